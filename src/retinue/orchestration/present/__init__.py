"""How an answer is drawn: blocks once, and from them Markdown, a page of HTML, or what a terminal shows.

It decides nothing about the answer: what is in it is `synthesise`'s, and what is drawn on a terminal is the CLI's.
"""
