"""The strict reader and writer of JSON."""

import itertools
import json as standard
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from retinue.contract import json
from retinue.errors import InvalidInput, ParseError

texts = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.integers(-(10**308) + 1, 10**308 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=30,
)
near_json = st.lists(
    st.sampled_from([
        *'{}[]:,"\\ \n\t', "1", "-", "0", ".5", "e9", "e999", "true", "null", "NaN", "Infinity", "-Infinity", '"a"', '"b"',
        '"a":1', "1,2,", r"\ud83d", r"\ude00", r"\u0041", r"\n", r"\\", "\ud800", "é", "//", "#", "\x00", "\ufeff", '{"a":',
        "[[", "9" * 308,
    ]),
    max_size=14,
).map("".join)  # fmt: skip


def attempt(read: Callable[..., Any], data: str | bytes, **limits: int) -> tuple[Any, ParseError | None]:
    """What was read, or the error; any other exception is a failure of the test."""
    try:
        return read(data, **limits), None
    except ParseError as error:
        return None, error


def refused(data: str | bytes, **limits: int) -> ParseError:
    with pytest.raises(ParseError) as caught:
        json.loads(data, **limits)
    return caught.value


@pytest.mark.requirement("C17", "K8")
@pytest.mark.parametrize(
    ("text", "reason", "line", "column", "path"),
    [
        ("", "empty", 1, 1, ""),
        (" \n ", "empty", 1, 1, ""),
        ('{"a": 1,\n "b": 2,\n "a": 3}', "duplicate_key", 3, 2, "/a"),
        (r'{"x": [{"a": 1, "\u0061": 2}]}', "duplicate_key", 1, 17, "/x/0/a"),
        (r'{"\ud83d\ude00": 1, "😀": 2}', "duplicate_key", 1, 21, "/😀"),
        (r'{"\n\/": 1, "\n/": 2}', "duplicate_key", 1, 13, "/\n~1"),
        ("[1, NaN]", "not_a_number", 1, 5, "/1"),
        ('{"a": Infinity}', "not_a_number", 1, 7, "/a"),
        ("-Infinity", "not_a_number", 1, 1, ""),
        ("1e999", "number_too_large", 1, 1, ""),
        ("[-1e999]", "number_too_large", 1, 2, "/0"),
        ("[1,2,3,[4," + "9" * 309 + "]]", "number_too_large", 1, 11, "/3/1"),
        (r'{"a": "\ud800"}', "lone_surrogate", 1, 8, "/a"),
        (r'["\udc00"]', "lone_surrogate", 1, 3, "/0"),
        (r'["\ud83d\u0041"]', "lone_surrogate", 1, 3, "/0"),
        (r'["\ud83d\ude00\ude00"]', "lone_surrogate", 1, 15, "/0"),
        ('["ok\ud800"]', "lone_surrogate", 1, 5, "/0"),
        ("\ufeff{}", "byte_order_mark", 1, 1, ""),
        ("[1,]", "trailing_comma", 1, 3, "/0"),
        ('{"a": 1,\n}', "trailing_comma", 1, 8, "/a"),
        ("[1, // one\n2]", "comment", 1, 5, "/1"),
        ("[/* */]", "comment", 1, 2, "/0"),
        ("{} # done", "comment", 1, 4, ""),
        ("{} {}", "trailing_text", 1, 4, ""),
        ("01", "trailing_text", 1, 2, ""),
        ("{", "truncated", 1, 2, ""),
        ("[1", "truncated", 1, 3, "/0"),
        ('{"a"', "truncated", 1, 5, "/a"),
        ('{"a": "x', "truncated", 1, 9, "/a"),
        (r'"\u12', "truncated", 1, 2, ""),
        ('"\\', "truncated", 1, 2, ""),
        (r'"\x"', "syntax", 1, 2, ""),
        (r'"\u12"', "syntax", 1, 2, ""),
        ('["a\tb"]', "syntax", 1, 4, "/0"),
        ("[True]", "syntax", 1, 2, "/0"),
        ("['a']", "syntax", 1, 2, "/0"),
        ("{a: 1}", "syntax", 1, 2, ""),
        ('{"a" 1}', "syntax", 1, 6, "/a"),
        ('{"a": undefined}', "syntax", 1, 7, "/a"),
        ("[1 2]", "syntax", 1, 4, "/0"),
        ('{"a": 1]', "syntax", 1, 8, "/a"),
        ("[1,,2]", "syntax", 1, 4, "/1"),
        ("\u00a01", "syntax", 1, 1, ""),
        ("-", "syntax", 1, 1, ""),
    ],
)
def test_what_two_parsers_could_read_differently_is_refused_at_its_place(
    text: str, reason: str, line: int, column: int, path: str
):
    error = refused(text)
    assert (error.detail["reason"], error.detail["line"], error.detail["column"], error.path) == (
        reason,
        line,
        column,
        path,
    )
    assert error.message.startswith(f"Line {line}, column {column}: ")
    assert error.message.endswith(".")
    assert error.hint


@pytest.mark.parametrize(
    ("data", "reason", "line", "column", "offset"),
    [
        (b"\xef\xbb\xbf{}", "byte_order_mark", 1, 1, 0),
        ("[1]".encode("utf-16"), "encoding", 1, 1, 0),
        ("[1]".encode("utf-16-be"), "encoding", 1, 1, 0),
        ("[1]".encode("utf-32-le"), "encoding", 1, 1, 0),
        ('["é",\n"é'.encode() + b"\xff", "encoding", 2, 3, 10),
        (b'"\xed\xa0\x80"', "encoding", 1, 2, 1),
        (b'"\xc0\x80"', "encoding", 1, 2, 1),
        (b"", "empty", 1, 1, 0),
    ],
)
def test_bytes_that_are_not_utf_8_are_refused(data: bytes, reason: str, line: int, column: int, offset: int):
    detail = refused(data).detail
    assert detail == {"reason": reason, "line": line, "column": column, "offset": offset}


def test_size_is_measured_in_bytes_of_utf_8():
    assert json.loads('"é"', max_bytes=4) == "é"
    assert json.loads('"é"'.encode(), max_bytes=4) == "é"
    assert refused('"éé"', max_bytes=5).detail["reason"] == "too_large"
    assert refused('"éé"'.encode(), max_bytes=5).detail["reason"] == "too_large"


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":['])
def test_depth_is_refused_where_it_is_exceeded_without_recursion(opening: str):
    error = refused(opening * 200_000)
    assert error.detail["reason"] == "too_deep"
    assert opening[error.detail["offset"] % len(opening)] in "[{"


def test_ten_megabytes_of_brackets_are_refused_near_their_start():
    for text in ("[" * 10_000_000, "[" * 5_000_000 + "]" * 5_000_000):
        assert refused(text).detail["column"] == json.MAX_DEPTH + 1


def test_the_deepest_allowed_value_is_read():
    text = "[" * 5 + "]" * 5
    assert json.loads(text, max_depth=5) == [[[[[]]]]]
    assert refused(text, max_depth=4).path == "/0/0/0/0"


def test_brackets_in_strings_are_not_depth():
    assert json.loads(r'["[[[[\"[[[[\\", "]]]]", {"[": "{"}]', max_depth=2) == ['[[[["[[[[\\', "]]]]", {"[": "{"}]
    assert refused('["]]]]", [["]]"]]]', max_depth=2).detail["reason"] == "too_deep"


def test_depth_beyond_the_stack_is_refused_too():
    text = "[" * 200_000 + "]" * 200_000
    error = refused(text, max_depth=1_000_000)
    assert error.detail["reason"] == "too_deep"


def test_surrogate_pairs_and_escaped_backslashes_are_read():
    assert json.loads(r'["\ud83d\ude00", "\\ud800", "\\\\", "\"\/"]') == ["😀", r"\ud800", r"\\", '"/']


@given(values)
def test_valid_documents_read_as_the_standard_library_reads_them(value: Any):
    for text in (standard.dumps(value), standard.dumps(value, ensure_ascii=False, indent=1)):
        assert json.loads(text) == standard.loads(text)
        assert json.loads(text.encode(), max_depth=3 + text.count("[") + text.count("{")) == standard.loads(text)


@given(near_json)
@example('[1,2,"a,b",3,]')
@example('{"a":1 ,"a" : 2}')
def test_a_text_is_read_strictly_or_refused_with_its_place(text: str):
    value, error = attempt(json.loads, text, max_depth=6)
    if error:
        lines = text[: error.detail["offset"]].split("\n")
        assert (error.detail["line"], error.detail["column"]) == (len(lines), len(lines[-1]) + 1)
    else:
        assert standard.loads(text) == value
        assert json.loads(json.dumps(value)) == value


@given(near_json)
def test_the_standard_library_refuses_nothing_that_is_accepted_and_the_rest_for_a_reason(text: str):
    """What only we refuse is one of the named strictnesses, never plain syntax."""
    try:
        standard.loads(text)
    except (ValueError, RecursionError):
        refused(text)
        return
    _, error = attempt(json.loads, text)
    if error:
        assert error.detail["reason"] in {"duplicate_key", "not_a_number", "number_too_large", "lone_surrogate"}


@given(st.text() | st.binary() | near_json.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_anything_else_is_a_parse_error(data: str | bytes):
    _, error = attempt(json.loads, data)
    assert error is None or (error.hint and error.detail["reason"])


@given(values, st.data())
def test_every_cut_text_says_it_is_cut_or_otherwise_wrong(value: Any, data: st.DataObject):
    text = json.dumps([value])
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    error = refused(cut)
    assert error.detail["reason"] in {"truncated", "empty", "syntax"}
    assert error.detail["offset"] <= len(cut)


@given(st.lists(st.sampled_from(["1", '"a"', "{}", '{"a":1}', "[2,3]", '"x,y"', " null ", "-1.5e3"]), min_size=1))
def test_the_path_counts_every_element_before_the_wrong_one(elements: list[str]):
    assert refused(f"[{','.join(elements)},x]").path == f"/{len(elements)}"


@pytest.mark.requirement("C16")
def test_null_is_a_value_of_its_own():
    assert json.loads('{"a": null}') == {"a": None}


@given(values)
def test_what_is_written_reads_back_the_same(value: Any):
    text = json.dumps(value)
    assert json.loads(text) == value
    assert standard.loads(text) == value
    assert json.dumps(json.loads(text)) == text


def test_writing_keeps_order_and_adds_nothing():
    assert json.dumps({"b": [1, 2.5, True, None], "a": "é\u2028"}) == '{"b":[1,2.5,true,null],"a":"é\u2028"}'
    pair: Any = ("x", ())
    assert json.dumps(pair) == '["x",[]]'


class Word(str):
    __slots__ = ()


class Table(dict[str, Any]):
    pass


def test_subclasses_of_json_types_are_written():
    assert (
        json.dumps(Table(a=Word("x"), b=[1e308, -0.0, Word("y"), None, True]))
        == '{"a":"x","b":[1e+308,-0.0,"y",null,true]}'
    )
    assert json.dumps(Word("z")) == '"z"'


itself: list[Any] = []
itself.append({"again": itself})


@pytest.mark.parametrize(
    ("value", "path", "word"),
    [
        ({"a": [{1, 2}]}, "/a/0", "set"),
        ({"a/b": b"x"}, "/a~1b", "bytes"),
        (object(), "", "object"),
        ({"a": [0, {1: 2}]}, "/a/1", "1"),
        ({"a": {"\ud800": 2}}, "/a", "surrogate"),
        ([math.nan], "/0", "nan"),
        ({"x": (1, -math.inf)}, "/x/1", "-inf"),
        ([1, 10**400], "/1", "308 digits"),
        (["\udc00"], "/0", "surrogate"),
        ([*range(5), [[[["deep"]]]]], "/5/0/0/0", "nested"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_path(value: Any, path: str, word: str):
    with pytest.raises(InvalidInput) as caught:
        json.dumps(value, max_depth=4)
    assert caught.value.path == path
    assert word in caught.value.message + caught.value.hint


def test_a_value_that_contains_itself_is_refused():
    with pytest.raises(InvalidInput, match="contains itself"):
        json.dumps(itself)


def test_values_shared_a_billion_times_are_too_large():
    value: Any = "x"
    for _ in range(60):
        value = [value, value]
    for shared in (value, [Table(), value]):
        with pytest.raises(InvalidInput, match="more than 1000 bytes"):
            json.dumps(shared, max_bytes=1000)


def test_size_limits_are_exact_for_writing():
    for value in ("é" * 10, ["a", "b"], {"a": [1]}, Word("abc")):
        size = len(json.dumps(value).encode())
        assert json.dumps(value, max_bytes=size)
        with pytest.raises(InvalidInput, match="bytes"):
            json.dumps(value, max_bytes=size - 1)


def test_writing_beyond_the_stack_is_refused():
    value: list[Any] = []
    for _ in range(200_000):
        value = [value]
    with pytest.raises(InvalidInput, match="stack"):
        json.dumps(value, max_depth=1_000_000)
    while value:  # taken apart by hand: freeing it whole would recurse as deep
        value = value.pop()


@given(st.lists(texts | st.integers(0), max_size=5))
def test_pointers_part_into_what_they_were_made_of(parts: list[str | int]):
    made = json.pointer(parts)
    again = [part.replace("~1", "/").replace("~0", "~") for part in made.split("/")[1:]]
    assert again == [str(part) for part in parts]


@pytest.mark.requirement("K8")
@pytest.mark.parametrize(
    ("text", "value", "note"),
    [
        ('Sure:\n```json\n{"a": 1}\n```\nbye', {"a": 1}, "Stripped a code fence and 8 characters of prose around"),
        ('```\n{"a": 1}\n```', {"a": 1}, "Stripped a code fence around"),
        ('~~~~json\n\n{"a": 1}\n~~~~ ', {"a": 1}, "Stripped a code fence around"),
        ('```json\n{"a": 1}', {"a": 1}, "Stripped the start of a code fence that does not end around"),
        (
            'Result [1]: {"a": {"b": [{"c": 2}]}}, as asked',
            {"a": {"b": [{"c": 2}]}},
            "Stripped 21 characters of prose around",
        ),
        ('use {name}: {"a": "```"}', {"a": "```"}, "Stripped 11 characters of prose around"),
        (' {"a": 1}\n', {"a": 1}, "Stripped nothing but white space around"),
        ('```{"a": 1}```', {"a": 1}, "Stripped 6 characters of prose around"),
    ],
)
def test_a_single_wrapped_object_is_taken_out(text: str, value: Any, note: str):
    assert json.repair(text) == (value, f"{note} the JSON object.")


@pytest.mark.parametrize(
    ("text", "reason", "offset"),
    [
        ("nothing here", "no_object", 0),
        ("[1, 2]", "no_object", 0),
        (r'"{\"a\": 1}"', "no_object", 0),
        ("", "empty", 0),
        ('{"a": 1}\n{"b": 2}', "two_objects", 9),
        ('```json\n{"a": 1}\n```\nor\n```json\n{}\n```', "two_objects", 32),
        ('[{"a": 1}]', "not_alone", 1),
        ("{'a': {\"b\": 1}, 'c': 2}", "not_alone", 6),
        ('{"a": 1}]', "not_alone", 0),
        ('Here: {"a": [1, 2', "truncated", 17),
        ('Here: {"a": "x', "truncated", 14),
        ('Here: {"a": 1,}', "trailing_comma", 13),
        ('Here:\n{"a": 1, "a": 2}', "duplicate_key", 15),
    ],
)
def test_in_doubt_nothing_is_repaired(text: str, reason: str, offset: int):
    with pytest.raises(ParseError) as caught:
        json.repair(text)
    assert (caught.value.detail["reason"], caught.value.detail["offset"]) == (reason, offset)


prose = st.text(st.characters(exclude_characters="{}[]`~", exclude_categories=["Cs"])).map(lambda text: "x" + text)


@given(prose, st.dictionaries(texts, values, max_size=4), prose, st.sampled_from(["{}", "```json\n{}\n```", "\n{}\n"]))
def test_an_object_in_prose_is_found(before: str, value: dict[str, Any], after: str, wrapping: str):
    text = before + "\n" + wrapping.replace("{}", json.dumps(value), 1) + "\n" + after
    assert json.repair(text)[0] == value


@given(near_json)
def test_repair_takes_a_whole_object_or_raises_a_parse_error(text: str):
    repaired, error = attempt(json.repair, text)
    if error:
        assert error.hint
    else:
        value, note = repaired
        assert json.loads(json.dumps(value)) == value
        assert note.startswith("Stripped ")


@pytest.mark.parametrize(
    "text", ["{ " * 500_000, '{"' * 500_000, "`" * 1_000_000 + "{", "```\n" * 250_000 + "\n" * 500_000]
)
def test_long_hopeless_texts_are_refused_in_linear_time(text: str):
    with pytest.raises(ParseError):
        json.repair(text)


def test_every_reason_has_a_hint():
    reasons = {refused(text).hint for text in ("", "[1,]", "NaN", "1e999", "[1", "{} {}", "// x")}
    assert len(reasons) == 7
    assert all(one != other for one, other in itertools.combinations(sorted(reasons), 2))
