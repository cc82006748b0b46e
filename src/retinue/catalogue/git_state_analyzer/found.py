"""What was found for one question, and the words in which it is spoken of: "the commits by … that touch …"."""

from dataclasses import dataclass

from retinue.catalogue._prose import Piece, code, name
from retinue.catalogue.git_state_analyzer.history import History, Sizes
from retinue.catalogue.git_state_analyzer.report import Report, commit_source, short
from retinue.catalogue.git_state_analyzer.repository import Standing
from retinue.catalogue.git_state_analyzer.scope import Scope
from retinue.tools.git import Commit, Git

__all__ = ["Found"]


@dataclass(frozen=True, slots=True)
class Found:
    """Everything an answer may speak of."""

    git: Git
    report: Report
    scope: Scope
    history: History
    sizes: Sizes
    standing: Standing
    question: str
    limit: int | None

    @property
    def span(self) -> str:
        """The commits that were counted, as a source."""
        oldest, newest = self.history.oldest[0], self.history.newest[:1] or self.history.oldest[-1:]
        return (
            f"commits {short(oldest.sha)}..{short(newest[0].sha)}" if self.history.count > 1 else commit_source(oldest)
        )

    @property
    def authored(self) -> list[Commit]:
        """The newest commits but merges, which only join what others wrote; merges if there is nothing else."""
        return [commit for commit in self.history.newest if not commit.is_merge] or self.history.newest

    def about(self) -> tuple[str, tuple[Piece, ...]]:
        """What was counted, as words after "commits": ` by … that touch …`."""
        words, pieces = "", list[Piece]()
        third = "s" if self.history.count == 1 else ""
        if self.scope.author:
            words += " by {}"
            pieces.append(name(self.history.people[0].name if len(self.history.people) == 1 else self.scope.author))
        if self.scope.task:
            words += f" that name{third} {{}}"
            pieces.append(code(self.scope.task))
        elif self.scope.text:
            words += f" that add{third} or remove{third} {{}}"
            pieces.append(code(self.scope.text))
        elif self.scope.words:
            words += f" that mention{third} {{}}"
            pieces.append(code(" ".join(self.scope.asked.about)))
        elif self.scope.paths:
            today = self.scope.today
            kept = today[:3]
            more = f" and {len(today) - 3} more" if len(today) > 3 else ""
            words += f" that touch{'es' if third else ''} {', '.join(['{}'] * len(kept))}{more}"
            pieces += map(code, kept)
        if self.scope.without:
            words += f" not by {', '.join(['{}'] * len(self.scope.without))}"
            pieces += map(name, self.scope.without)
        if not self.scope.merges:
            words += " (merges not counted)"
        if self.scope.revision != "HEAD":
            words += " in {}"
            pieces.append(code(self.scope.revision))
        return words, tuple(pieces)

    def singled_out(self, which: str) -> str:
        """The beginning of a sentence about one commit that is told by words: `The last commit that mentions …`."""
        verb = "adds or removes" if self.scope.text else "mentions"
        return f"The {which} commit that {verb} {{}} is" if self.is_of_words else ""

    @property
    def is_of_words(self) -> bool:
        """Whether the commits are told by what they say, not by which files they touch."""
        return bool(self.scope.words or self.scope.task or self.scope.text)

    def subject(self) -> tuple[str, tuple[Piece, ...]]:
        """What a sentence about all of it speaks of, as its beginning."""
        if self.scope.task:
            return "{}", (code(self.scope.task),)
        if self.scope.text:
            return "{}", (code(self.scope.text),)
        if self.scope.words:
            return "{}", (code(" ".join(self.scope.asked.about)),)
        places = [path for place in self.scope.places for path in place.paths] or list(self.scope.today)
        if places:
            return ", ".join(["{}"] * len(places[:3])), tuple(map(code, places[:3]))
        return "The repository", ()
