"""Three ways to build the engine wrong, each of which whoever judges runs must catch."""

from collections.abc import Callable
from typing import Any

import pytest

from retinue.contract.event import Event
from retinue.engine.journal import Journal
from retinue.engine.run_history import HistoryReplay
from retinue.engine.store import Connection
from retinue.engine.writer import Then

__all__ = ["BROKEN"]


def hand_on_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    record = Journal.record

    def record_later(self: Journal, event: Event, epoch: int = 1, then: Then | None = None) -> None:
        record(self, event, epoch)
        if then is not None:
            then(None)

    patch.setattr(Journal, "record", record_later)


def work_without_epochs(patch: pytest.MonkeyPatch) -> None:
    take_over = Journal.take_over

    def take_part(self: Journal, run: str, *arguments: Any, unless_ended: bool = False) -> Any:
        history, mails = take_over(self, run, *arguments, unless_ended=unless_ended)
        history.epoch = 1

        def forget(connection: Connection) -> None:
            connection.execute("UPDATE runs SET epoch = 1 WHERE run = ?", (run,))

        vars(self)["_writer"].call(forget)
        return history, mails

    patch.setattr(Journal, "take_over", take_part)


def keep_by_position(patch: pytest.MonkeyPatch) -> None:
    take = HistoryReplay.take

    def take_next(self: HistoryReplay, name: str) -> bool:
        pending: dict[str, Any] = self._pending  # pyright: ignore[reportPrivateUsage]
        if pending:
            pending[name] = pending.pop(next(iter(pending)))
        return take(self, name)

    patch.setattr(HistoryReplay, "take", take_next)


BROKEN: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "hands on before the commit": hand_on_before_the_commit,
    "has no epochs": work_without_epochs,
    "keeps by position": keep_by_position,
}
