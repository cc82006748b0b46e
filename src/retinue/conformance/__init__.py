"""Judges other people's agents.

Each dialect that agents are judged by has two files in `kits`: the requirements as data (frozen), and a module with
`PROBES` (the requests that show them) and `CHECKS` (what is looked at in the answers). A protocol of servers has
`converse` in place of `PROBES`, since what is asked next depends on what came (`probe_session`); where it is spoken
`discovery` finds out. A check is trusted once it has failed: the tests have a good agent for each dialect, and for
every requirement one that breaks it. Who is judged is in `subjects`; what came of it in `report`.

    request = CheckRequest(words="agent.py:answer", dialect="markdown_json", agent="reviewer", operation="full_review")
    check = await prepare(request)
    report = await check.judge()
"""
