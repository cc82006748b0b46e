"""A request in more general words: what goes, and what is named."""

import pytest
from hypothesis import given, strategies as st

from retinue.contract.fault import Fault
from retinue.contract.plan import Binding, Delegation
from retinue.orchestration.recovery import broaden, parameter_at_fault


def asked(words: str, **read: str) -> Delegation:
    bound = tuple(Binding(parameter=name, value=1, how="said", words=said) for name, said in read.items())
    return Delegation(id="n1", agent="a", skill="s", instruction=words, bindings=bound)


@pytest.mark.requirement("P14")
@pytest.mark.parametrize(
    ("words", "read", "left"),
    [
        ("who changed the parser since 2019?", {"since": "2019"}, "who changed the parser?"),
        ("who changed `src/app.py` in the last week", {"path": "src/app.py"}, "who changed in the last week"),
        ("list commits by Ann, and count them", {"author": "Ann"}, "list commits, and count them"),
        ("show 5 commits of main", {"limit": "5", "base": "main"}, "show commits"),
    ],
)
def test_what_was_read_out_of_the_words_goes_with_what_led_to_it(words: str, read: dict[str, str], left: str):
    assert broaden(asked(words, **read), None) == (left, tuple(read.values()))


def test_only_what_the_fault_points_at_goes_when_it_points_at_something():
    fault = Fault(code="invalid_input", message="No.", path="/parameters/since")
    found = broaden(asked("show 5 commits since 2019", limit="5", since="2019"), fault)
    assert found == ("show 5 commits", ("2019",))


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ("show the status", {}),
        ("2019", {"since": "2019"}),
        ("commits 2019", {"since": "2019"}),
        ("show the status", {"base": "not in it"}),
        ("show the status", {"base": " "}),
    ],
)
def test_nothing_is_more_general_than_what_nothing_limits_or_what_would_be_empty(words: str, read: dict[str, str]):
    assert broaden(asked(words, **read), None) is None


def test_what_was_not_said_limits_nothing():
    node = asked("show the last commits")
    node = node.model_copy(update={"bindings": (Binding(parameter="limit", value=5, how="default", words="last"),)})
    assert broaden(node, None) is None


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/parameters/year", "year"),
        ("/year", "year"),
        ("/year/0", "year"),
        ("/instruction", None),
        ("", None),
        ("year", None),
    ],
)
def test_the_parameter_at_fault_is_the_one_the_fault_points_at(path: str, named: str | None):
    assert parameter_at_fault(Fault(code="invalid_input", message="No.", path=path), {"year"}) == named
    assert parameter_at_fault(None, {"year"}) is None


@given(st.text(max_size=60), st.text(max_size=10), st.text(max_size=10))
def test_more_general_words_are_never_more_words(words: str, first: str, second: str):
    found = broaden(asked(words, first=first, second=second), None)
    if found is not None:
        assert len(found[0].split()) <= len(words.split()) + 2
        assert len(found[0].split()) > 1
        assert found[1]


def test_a_table_that_is_named_stays_named():
    node = asked("hits per teapot in access.log by hour", files="access.log", unit="hour")
    assert broaden(node, None) == ("hits per teapot in access.log", ("hour",))
