"""Which kind of passage answers which kind of question better."""

import pytest

from retinue.catalogue.researcher_analyst.preference import fitness, instructs
from retinue.catalogue.researcher_analyst.question import read_question
from retinue.tools.search import Kind, Parts, Passage
from retinue.tools.search.kinds import kind_of


def passage(path: str, text: str = "The valve opens.", name: str = "") -> Passage:
    kind: Kind = kind_of(path) or "code"
    return Passage(path, 1, 1, text, kind, name, "", text, 1, 1.0, Parts(1.0, 0.0, 0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("question", "better", "worse"),
    [
        ("why does the valve open", passage("docs/valve.md"), passage("src/valve.py")),
        ("why does the valve open", passage("a.md", "It opens because it must."), passage("a.md")),
        ("where is the valve opened", passage("src/valve.py", name="open_valve"), passage("docs/valve.md")),
        ("how does the valve open", passage("src/valve.py"), passage("tests/test_valve.py")),
        ("which valve is tested", passage("tests/test_valve.py"), passage("src/valve.py")),
        ("how does the valve open", passage("docs/valve.md"), passage("CHANGES.rst")),
        ("how does the valve open", passage("docs/valve.md"), passage("LICENSE.txt")),
        ("how do I open the valve", passage("docs/valve.md"), passage("src/valve.py", name="open_valve")),
        ("find documentation about the valve", passage("docs/valve.md"), passage("src/valve.py", name="valve")),
        ("what is a valve", passage("a.py", "class Valve:\n    pass", "Valve"), passage("a.py", "def valve(): ...", "valve")),
        ("what is a valve", passage("a.py", "def valve(): ...", "valve"), passage("a.py", "def _valve(): ...", "_valve")),
        ("how does the valve open?", passage("a.md"), passage("a.md", "GOAL = How does\nthe valve open, and who did it")),
    ],
)  # fmt: skip
def test_the_better_passage_weighs_more(question: str, better: Passage, worse: Passage) -> None:
    asked = read_question(question)
    assert fitness(better, asked) > fitness(worse, asked)


@pytest.mark.parametrize(
    ("question", "how_to"),
    [
        ("How do I stream a response?", True),
        ("how to stream", True),
        ("How can we stream it", True),
        ("how does streaming work", False),
        ("how is it streamed", False),
        ("what does the how-to say", True),
    ],
)
def test_who_asks_what_to_do_is_told_from_who_asks_how_it_works(question: str, how_to: bool) -> None:
    assert read_question(question).how_to is how_to


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("Use the lever to open the valve.", "The valve is red."),
        ("The valve is red.", "Note that the valve cannot be closed."),
        ("Call `open_valve`.", "Call the plumber."),
    ],
)
def test_what_to_do_weighs_more_than_what_to_look_out_for(better: str, worse: str) -> None:
    assert instructs(better) > instructs(worse)
