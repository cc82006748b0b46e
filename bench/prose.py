"""Made-up prose and Python modules that read like a real project's: the same for the same seed, on every machine.

It measures nothing. `bench.tree` makes a repository of it. Only `random()` of Python's generator is used, the one
method whose numbers Python promises to keep.
"""

from collections.abc import Callable, Sequence
from random import Random
from textwrap import fill, indent

__all__ = ["SUBSYSTEMS", "Chance", "module", "module_name", "module_of_tests", "page"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SUBSYSTEMS = _words(
    "archive billing catalog courier directory exporter gateway harvest importer inventory ledger mailer metering "
    "notifier orders payroll pricing profile quota receipts relay reports returns scheduler search shipping "
    "signing storage tariff telemetry tracker transfer vault warehouse webhooks"
)

_NOUNS = _words(
    "account address amount anchor batch bucket buffer bundle carrier cell channel checksum chunk claim client clock "
    "column contract counter credit crate cursor customer day deadline delta deposit digest document draft edge entry "
    "envelope epoch estimate export factor feed field filter folder frame grant group handle header hint host image "
    "index interval invoice item journal key label lane lease level limit line link list lock lookup manifest mapping "
    "margin marker mask member merchant message meter method mirror network note number offer offset option order "
    "origin outcome owner packet page pallet parcel partner path payment period person phase picture pipe place "
    "pointer pool position price product profile proof query range rate reader receipt record region register relay "
    "report request reservation response route row rule sample schema section segment series session shelf shipment "
    "signature slice slot snapshot source stage stamp statement station stock stream subject summary supplier table "
    "target tariff template tenant ticket token topic total trace truck unit vendor version view volume voucher "
    "warehouse watermark window writer zone"
)
_VERBS = _words(
    "accept align append apply archive assign attach balance bind build cancel check clear close collect combine "
    "compare compute confirm convert copy count decode defer deliver detach drain emit encode ensure expand export "
    "extract fetch fill filter flush fold forward freeze gather group hold ingest insert inspect join label load lock "
    "map mark match measure merge move normalise open order pack parse patch pick place prepare prune publish pull "
    "push rank read rebuild receive reduce refresh refuse release rename render replace report reserve resolve restore "
    "review rotate round sample save scan seal select send settle share shift sign skip sort split stage store sum "
    "swap take trim update verify wait warm watch weigh wrap write"
)
_ADJECTIVES = _words(
    "active bare cached central clean closed cold common complete current daily default delayed distant double early "
    "empty exact expected external final first fixed foreign former frozen full general idle initial inner known large "
    "last late latest legal local long lost main manual minor missing mixed monthly nearest neutral next nightly "
    "numeric old open ordered outer own paid partial pending plain primary private proper public quiet rare raw recent "
    "regional regular remote safe second separate shared short signed silent simple single slow small sorted spare "
    "stable stale steady strict temporary third tight total trusted unique unknown unpaid unused upper usual valid "
    "weekly whole wide"
)
_SENTENCES = (
    "The {a} {n} is kept beside the {n2} until somebody can {v} the {n3}.",
    "A {n} without a {n2} is refused, because nobody could {v} it later.",
    "It will {v} each {n} once, in the order in which the {n2} arrived.",
    "When the {n} is {a}, the {s} asks the {s2} for its {n2} and waits at most {k} seconds.",
    "Only the {s} may {v} a {n}; everybody else sees a {a} copy of it.",
    "There is one {a} {n} for each {n2}, and it is never larger than {k} kilobytes.",
    "We once stored the {n} with the {n2}, which made it hard to {v} the {a} ones.",
    "Whoever needs to {v} the {n} has to hold the {n2} first.",
    "The {n} of a {a} {n2} counts double, so that {k} of them fill one {n3}.",
    "If the {s} cannot be reached, the {n} stays {a} and a warning names the {n2}.",
    "Every {k} minutes the {n} is compared with the {a} {n2}, and differences are written to the {n3}.",
    "This is about the {n}, not about the {n2} that the {s} keeps.",
    "Any {a} {n} can be told from the {a2} ones by its {n2}.",
    "Do not {v} the {n} here: the {n2} may already be {a}.",
    "The {s} gives up on a {n} after {k} attempts and leaves the {n2} to a person.",
    "Read the {n} before the {n2}, or the {a} {n3} is lost.",
    "Nothing depends on the order of {n} and {n2} as long as both are {a}.",
    "In practice {k} of a hundred {n} lookups end at a {a} {n2}.",
)
_ELSEWHERE = (
    "The {s} has a retry policy of its own: {k} attempts for a {a} {n}, and none for a {n2}.",
    "A {n} is not retried by the {s}, whatever the policy of the {n2} says.",
)
"""Said once in some thousand sentences: what makes a question about another part's retries less than trivial."""

_LINES = (
    "{n} = self._{n2}.{v}({n3})",
    "{n} = {v}_{n2}({n3}, {a}={k})",
    "self._{a}_{n} = {n2}",
    'if {n} is None:\n    raise ValueError(f"no {n} for {{{n2}!r}}")',
    "if len({n}) > {k}:\n    return self.{v}_{n2}({n})",
    "for {n} in self._{n2}:\n    {n3} += {n}.{v}({k})",
    "with self._{n}_lock:\n    self._{n2}[{n3}] = {n}",
    'logger.debug("{v} {n} of %s", {n2})',
    "{n}, {n2} = {n2}, self.{v}_{n3}({n})",
)


class Chance:
    """Choices that depend on a seed alone, from the few words that one text of a project is about."""

    def __init__(self, seed: str) -> None:
        self._next = Random(seed).random
        self._nouns = self._some(_NOUNS, 60)
        self._verbs = self._some(_VERBS, 30)
        self._adjectives = self._some(_ADJECTIVES, 30)

    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` - 1."""
        return int(self._next() * limit)

    def between(self, least: int, most: int) -> int:
        """A whole number, small ones more often."""
        return least + int(self._next() * self._next() * (most - least + 1))

    def one(self, words: Sequence[str]) -> str:
        """One of `words`."""
        return words[int(self._next() * len(words))]

    def filled(self, template: str, *, among: Sequence[str] = SUBSYSTEMS) -> str:
        """`template` with words for its letters."""
        return template.format(
            n=self.one(self._nouns),
            n2=self.one(self._nouns),
            n3=self.one(self._nouns),
            a=self.one(self._adjectives),
            a2=self.one(self._adjectives),
            v=self.one(self._verbs),
            v2=self.one(self._verbs),
            s=self.one(among),
            s2=self.one(among),
            k=self.below(90) + 2,
        )

    def sentence(self) -> str:
        """One sentence."""
        if self.below(2_000):
            return self.filled(self.one(_SENTENCES))
        return self.filled(self.one(_ELSEWHERE), among=[name for name in SUBSYSTEMS if name != "scheduler"])

    def _some(self, words: Sequence[str], count: int) -> tuple[str, ...]:
        return tuple(self.one(words) for _ in range(count))

    def paragraph(self) -> str:
        """Two to six sentences."""
        return fill(" ".join(self.sentence() for _ in range(self.between(2, 6))), width=100)


def module_name(chance: Chance) -> str:
    """What a module or a page is called, such as `sort_voucher`."""
    return chance.filled("{v}_{n}")


def module(chance: Chance, subsystem: str, *, size: int) -> str:
    """A Python module of about `size` characters."""
    constant = chance.filled("{a}_{n} = {k}").upper()
    head = (
        f'"""{chance.sentence()}\n\n{chance.paragraph()}\n"""\n\nimport logging\n\n'
        + chance.filled("from orchard.{s}.{v}_{n} import {v}_{n2}\n\n")
        + f'{constant}\nlogger = logging.getLogger("{subsystem}")\n'
    )
    return _grown(head, "\n\n", lambda: _class(chance), size=size)


def module_of_tests(chance: Chance, subsystem: str, *, size: int) -> str:
    """A module of tests of about `size` characters."""
    name = chance.filled("{v}_{n}")
    head = f'"""{chance.sentence()}"""\n\nfrom orchard.{subsystem}.{name} import {name}\n'
    return _grown(head, "\n\n", lambda: _test(chance, name), size=size)


def page(chance: Chance, subsystem: str, *, size: int) -> str:
    """A Markdown page of about `size` characters."""
    title = chance.filled("{a} {n} and {n2}").capitalize()
    head = f"# {title} in the {subsystem}\n\n{chance.paragraph()}\n"
    return _grown(head, "\n", lambda: _section(chance), size=size)


def _grown(text: str, gap: str, more: Callable[[], str], *, size: int) -> str:
    pieces = [text]
    while size > 0:
        pieces.append(more())
        size -= len(pieces[-1]) + len(gap)
    return gap.join(pieces)


def _class(chance: Chance) -> str:
    name = chance.filled("{a} {n}").title().replace(" ", "")
    return f'class {name}:\n    """{chance.sentence()}"""\n' + "".join(
        _method(chance) for _ in range(chance.between(2, 7))
    )


def _method(chance: Chance) -> str:
    lines = [f"\n    def {chance.filled('{v}_{n}(self, {n2}, {a}_{n3}={k})')}:", f'        """{chance.sentence()}"""']
    for _ in range(chance.between(2, 9)):
        lines.append(indent(chance.filled(chance.one(_LINES)), " " * 8))
        if not chance.below(5):
            lines.append(f"        # {chance.sentence()}")
    lines.append(chance.filled("        return {n}\n"))
    return "\n".join(lines)


def _test(chance: Chance, name: str) -> str:
    head = chance.filled("def test_{n}_is_{a}_when_{n2}_is_{a2}():")
    lines = [
        chance.filled(f"    {{n}} = {name}({{n2}}={{k}})\n    assert {{n3}}.{{a}}_{{n}} == {{k}}")
        for _ in range(chance.between(1, 5))
    ]
    return "\n".join([head, f"    # {chance.sentence()}", *lines, ""])


def _section(chance: Chance) -> str:
    pieces = [chance.filled("## How to {v} the {a} {n}"), *(chance.paragraph() for _ in range(chance.between(1, 4)))]
    if not chance.below(3):
        pieces.append("\n".join(f"- {chance.sentence()}" for _ in range(chance.between(2, 5))))
    if not chance.below(4):
        pieces.append(chance.filled("```python\n{n} = {v}_{n2}({n3}, {a}={k})\n{n}.{v2}()\n```"))
    return "\n\n".join(pieces) + "\n"
