"""What a project has that a ticket could use: pytest fixtures, helpers, tests; and what it plans anew all the same."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from retinue.catalogue._names import is_test_or_vendored, read_names
from retinue.catalogue._prose import one_line
from retinue.catalogue._report import plural
from retinue.catalogue.tickets import Ticket
from retinue.tools.search.bm25 import Bm25

from .parameters import PatternReuse, ReusablePattern
from .review import FINISHED, Reviewer, content

_MOST: Final = 8
_SHARED: Final = 2  # words that a name has in common with a ticket before it is said to be available
_FEWEST_WORDS: Final = 3  # of the purpose of a fixture, before what is planned in the same words is the same
_CODE_NAME: Final = re.compile(r"`([a-z_]\w{2,60})(?:\(\))?`")
_NAME: Final = re.compile(r"\w*[^\W_]_\w+")
_DOC: Final = re.compile(
    r"[^\n]{0,400}(?:\n[^\n]{0,200}){0,8}?:\s{0,80}\n\s{0,80}[rR]?(?:\"\"\"|''')\s{0,80}([^\n\"']+)"
)
_BANDS: Final = ((10.0, "all exist"), (7.0, "mostly existing"), (4.0, "mixed"), (0.0, "mostly new"))


class ReuseFinder:
    """Knows the fixtures, helpers and tests of the project whose tickets `reviewer` has reviewed.

    What those plan although it exists becomes an issue of his. In `cache_dir` is kept what was read of a tree.
    """

    def __init__(self, reviewer: Reviewer, cache_dir: Path | None) -> None:
        self.reviewer, self.source = reviewer, cache(reviewer.source)
        self.fixtures, self.helpers, self.tests = dict[str, str](), dict[str, str](), dict[str, list[str]]()
        files, is_complete = read_names(reviewer.workspace, cache_dir)
        if not is_complete:
            reviewer.report.note("There was no time to read the names of all code: more may be there to reuse.")
        for path, one in files.items():
            self.fixtures |= dict.fromkeys(one.fixtures, path)
            functions = (*one.tops, *(name.rpartition(".")[2] for name in one.members))
            if tests := [name for name in functions if name.startswith("test_")]:
                self.tests[path] = tests
            if path.endswith(".py") and not is_test_or_vendored(path):
                self.helpers |= {name: path for name in one.tops if name.islower() and not name.startswith("_")}

    def place(self, name: str, path: str) -> ReusablePattern:
        """Where a name is defined, and the first line of its docstring."""
        text = self.source(path)
        definition = re.search(rf"^[ \t]*(?:async )?def {re.escape(name)}\b", text, re.MULTILINE)
        if definition is None:  # a fixture may have another name than its function
            return ReusablePattern(name=name, location=path)
        doc, line = _DOC.match(text, definition.end()), text.count("\n", 0, definition.end()) + 1
        return ReusablePattern(name=name, location=f"{path}:{line}", purpose=one_line(doc[1]) if doc else "")

    def find(self) -> PatternReuse:
        """What could be reused, with a score where there is a basis for one."""
        reviewed = self.reviewer.reviewed
        text = "\n".join(one.text for one in reviewed)
        mentions = {*_CODE_NAME.findall(text), *_NAME.findall(text)}
        steps = (item.text for one in reviewed for item in one.checklist)
        words = content(" ".join([self.reviewer.target.title, *steps])) - self.reviewer.rubric.plain_terms
        new, used = self._planned_anew(), mentions & self.fixtures.keys()
        score, why = None, "No fixture is named and none is planned: there is no basis for a score."
        if total := len(used) + len(new):
            score = round(10 * len(used) / total, 1)
            band = next(word for least, word in _BANDS if score >= least)
            named = plural(total, "fixture")
            why = f"Of {named} named or planned {len(used)} exist, of ten that is {score:g} ({band})."
        test_words = {path: f"{path} {' '.join(names)}" for path, names in self.tests.items()}
        tests = [(path, self.tests[path]) for path in _best(test_words, words)[:3]]
        return PatternReuse(
            fixtures_available=self._available(self.fixtures, mentions, words),
            helpers_available=self._available(self.helpers, mentions, words),
            test_patterns_available=[
                ReusablePattern(
                    name=path, location=self.place(names[0], path).location, purpose=plural(len(names), "test")
                )
                for path, names in tests
            ],
            reuse_score=score,
            reuse_assessment=why,
            violations=[one for one in self.reviewer.issues.values() if one.rule == "fixture-exists"],
        )

    def _available(
        self, places: Mapping[str, str], mentions: Collection[str], words: set[str]
    ) -> list[ReusablePattern]:
        """Those that are named, then those whose names share most words."""
        names = [*sorted(places.keys() & mentions), *_best({name: name.replace("_", " ") for name in places}, words)]
        return [self.place(name, places[name]) for name in list(dict.fromkeys(names))[:_MOST]]

    def _planned_anew(self) -> set[str]:
        """The names of fixtures that are planned and do not exist; what is planned although it exists is an issue."""
        rubric = self.reviewer.rubric
        empty_words = content(" ".join(rubric.words.get("fixture_plain_words", ()))) | rubric.plain_terms
        by_words = {frozenset(key): name for name in self.fixtures if (key := _parts(name) - empty_words)}
        places = {name: self.place(name, path) for name, path in self.fixtures.items()}
        purposes = {name: content(one.purpose) - empty_words for name, one in places.items()}
        new: set[str] = set()
        # A finished ticket may have made what is there.
        for ticket in (one for one in self.reviewer.reviewed if one.status not in FINISHED):
            for line, names, row in self._planned(ticket):
                about = content(row) - empty_words
                same = [name for name in names if name in places]
                same += [by_words[key] for one in names if (key := frozenset(_parts(one) - empty_words)) in by_words]
                same += [name for name, key in purposes.items() if len(key) >= _FEWEST_WORDS and key <= about]
                if same:
                    one = places[same[0]]
                    sentence = f"{row} — `{one.name}` is at {one.location}{one.purpose and f': {one.purpose}'}"
                    self.reviewer.add("fixture-exists", ticket, line, sentence)
                else:
                    new |= set(names)
        return new

    def _planned(self, ticket: Ticket) -> Iterator[tuple[int, list[str], str]]:
        """Each line that plans new fixtures, with their names; of a list below such a line each row is one."""
        rubric, rows, in_list = self.reviewer.rubric, ticket.rows, False
        words, changed = rubric.find("new_fixture"), rubric.find("changed_fixture")
        for line, text in self.reviewer.prose(ticket):
            row = rows[line - 1].strip()
            in_list = in_list and row.startswith(("-", "*"))
            is_new = words.search(text) is not None and changed.search(text) is None
            if is_new or in_list:
                names = _CODE_NAME.findall(row)
                yield line, names[:1] if in_list else names, row
            in_list = in_list or (is_new and row.rstrip("*").endswith(":"))


def _parts(name: str) -> set[str]:
    return content(name.replace("_", " "))


def _best(texts: Mapping[str, str], words: set[str]) -> list[str]:
    """The keys of those texts that share enough words, best first."""
    keys, documents = list(texts), [content(text) for text in texts.values()]
    ranked = Bm25(documents).best(sorted(words), limit=2 * _MOST)
    return [keys[at] for at, _ in ranked if len(documents[at] & words) >= _SHARED]
