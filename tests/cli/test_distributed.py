"""Workers that share one history in PostgreSQL, and RabbitMQ that shares runs out among them: real processes all."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, chdir, contextmanager, suppress
from pathlib import Path
from shutil import copytree

import pytest
from taskiq.receiver import Receiver

from retinue.agents.trust import TrustStore
from retinue.engine.journal import Journal
from retinue.engine.rabbitmq import RabbitDispatch
from retinue.engine.stores.postgres import PostgresStore
from tests.cli.conftest import Give
from tests.cli.test_worker import calls, site, wait_for, worker
from tests.postgres import Postgres
from tests.rabbitmq import RabbitMQ, running_broker

__all__ = ["site"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("site")]

Words = dict[subprocess.Popen[str], list[str]]


class Team:
    """Workers of one folder, and what each has said.

    Attributes:
        store: The URL of their history.
    """

    def __init__(self, folder: Path, store: str, broker: str, stack: ExitStack) -> None:
        self.folder, self.store, self._broker, self._stack = folder, store, broker, stack
        self.words: Words = {}

    def add(self, *options: str, broker: str = "") -> subprocess.Popen[str]:
        """Start a worker, and wait until it takes runs."""
        options = ("--store", self.store, "--broker", broker or self._broker, *options)
        process = self._stack.enter_context(worker(self.folder, *options))
        lines = self.words[process] = []

        def read() -> None:
            with suppress(ValueError):
                lines.extend(process.stderr or ())

        threading.Thread(target=read, daemon=True).start()
        wait_for(lambda: lines)
        return process

    def said(self, process: subprocess.Popen[str]) -> str:
        return "".join(self.words[process])


@pytest.fixture
def team(site: Path, postgres: Postgres, broker: RabbitMQ) -> Generator[Team]:
    with ExitStack() as stack:
        yield Team(site, postgres.fresh(), broker.url, stack)


@pytest.fixture
def leave(team: Team, retinue: Give) -> Callable[..., str]:
    """Leaves a run of a plan in the queue; gives its id."""

    def leave(plan: str = "house.json", *words: str) -> str:
        left = retinue("run", "--detach", "--plan", plan, "--store", team.store, *words)
        assert left.code == 0, left.err
        return left.out.strip()

    return leave


@pytest.fixture
def history(team: Team) -> Generator[Journal]:
    with Journal(team.store) as journal:
        yield journal


def end_of(history: Journal, run: str) -> str | None:
    wait_for(lambda: history.get(run).ended_ns is not None)
    return history.get(run).outcome


@contextmanager
def proxy(port: int) -> Generator[tuple[int, threading.Event]]:
    """A port that leads to `port` of this machine until the event is set; then it holds back what is sent."""
    cut, server = threading.Event(), socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError), source:
            while piece := source.recv(65_536):
                if not cut.is_set():
                    sink.sendall(piece)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, far = server.accept()[0], socket.create_connection(("127.0.0.1", port))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with server:
        yield server.getsockname()[1], cut
        server.shutdown(socket.SHUT_RDWR)  # so that `accept` ends


def test_workers_share_runs_out_and_each_is_run_once(team: Team, leave: Callable[..., str], history: Journal) -> None:
    (team.folder / "tiles").touch()
    first, second = team.add("--at-once", "2"), team.add("--at-once", "2")
    runs = [leave() for _ in range(6)]
    assert [end_of(history, run) for run in runs] == ["success"] * 6
    assert calls(team.folder) == ["mason"] * 6 + ["roofer"] * 6
    wait_for(lambda: sum(team.said(each).count("success") for each in (first, second)) == 6)
    assert all(history.history(run).epoch == 2 for run in runs)
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=60) == 0


def test_what_was_in_the_queue_before_there_was_a_worker_is_run_too(
    team: Team, leave: Callable[..., str], history: Journal
) -> None:
    (team.folder / "tiles").touch()
    runs = [leave() for _ in range(3)]
    process = team.add("--burst")
    assert process.wait(timeout=60) == 0, team.said(process)
    assert [history.get(run).outcome for run in runs] == ["success"] * 3


@pytest.mark.deep
def test_a_full_folder_keeps_no_other_from_being_worked_on(
    team: Team, leave: Callable[..., str], history: Journal
) -> None:
    annex = team.folder / "annex"
    (annex / ".git").mkdir(parents=True)
    copytree(team.folder / ".retinue", annex / ".retinue")
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(annex)
    full = [leave() for _ in range(3)]
    process = team.add("--workspace", ".", "--workspace", "annex", "--at-once", "2", "--per-workspace", "1")
    wait_for(lambda: "roofer" in calls(team.folder))
    with chdir(annex):
        small = leave("../wall.json")
    wait_for(lambda: history.get(small).lifecycle == "input_required")
    time.sleep(6)  # longer than a worker with room waits for messages before it listens anew
    assert calls(team.folder) == ["mason", "painter", "roofer"]
    (team.folder / "tiles").touch()
    assert [end_of(history, run) for run in full] == ["success"] * 3
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0


def test_a_run_of_another_machine_goes_to_a_worker_that_shares_its_folder(
    team: Team, leave: Callable[..., str], history: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    (team.folder / "tiles").touch()
    with monkeypatch.context() as there:
        there.setattr(PostgresStore, "host", "build-3")
        run = leave()
    assert team.add("--burst").wait(timeout=60) == 0
    assert history.get(run).lifecycle == "submitted"
    team.add()
    sharing = team.add("--shared-workspace")
    assert end_of(history, run) == "success"
    wait_for(lambda: run in team.said(sharing))


def test_the_run_of_a_worker_that_is_killed_goes_on_elsewhere(
    team: Team, leave: Callable[..., str], history: Journal
) -> None:
    run, first = leave(), team.add()
    wait_for(lambda: history.get(run).finished_steps == ("n1",) and "roofer" in calls(team.folder))
    second = team.add()
    first.kill()
    wait_for(lambda: calls(team.folder).count("roofer") == 2)
    (team.folder / "tiles").touch()
    assert end_of(history, run) == "success"
    assert calls(team.folder) == ["mason", "roofer", "roofer"]
    wait_for(lambda: f"{run}  success" in team.said(second))


@pytest.mark.deep
def test_a_worker_that_sleeps_loses_its_run_and_says_so_when_it_wakes(
    team: Team, leave: Callable[..., str], history: Journal
) -> None:
    run, sleeper = leave(), team.add()
    wait_for(lambda: history.get(run).finished_steps == ("n1",) and "roofer" in calls(team.folder))
    team.add()
    sleeper.send_signal(signal.SIGSTOP)
    wait_for(lambda: calls(team.folder).count("roofer") == 2, timeout_s=90)
    (team.folder / "tiles").touch()
    assert end_of(history, run) == "success"
    sleeper.send_signal(signal.SIGCONT)
    wait_for(lambda: "taken over by another process" in team.said(sleeper))
    assert "success" not in team.said(sleeper)
    events = history.events(run, limit=1_000)
    assert sum(event.kind == "finished" and not event.node for event in events) == 1
    assert calls(team.folder) == ["mason", "roofer", "roofer"]


@pytest.mark.deep
@pytest.mark.parametrize("seconds", [5, 60])
def test_a_broker_that_dies_stops_no_run_and_loses_none(
    team: Team, leave: Callable[..., str], history: Journal, broker: RabbitMQ, seconds: int
) -> None:
    running, first, second = leave(), team.add("--at-once", "1"), team.add("--at-once", "1")
    wait_for(lambda: "roofer" in calls(team.folder))
    broker.stop_hard()
    try:
        queued = [leave() for _ in range(3)]
        wait_for(lambda: all("cannot be reached" in team.said(each) for each in (first, second)))
        time.sleep(seconds)
        assert history.get(running).lifecycle == "working"
        assert [history.get(run).lifecycle for run in queued] == ["submitted"] * 3
    finally:
        broker.start()
    wait_for(lambda: calls(team.folder).count("mason") >= 2, timeout_s=90)
    (team.folder / "tiles").touch()
    assert [end_of(history, run) for run in (running, *queued)] == ["success"] * 4
    assert calls(team.folder) == ["mason"] * 4 + ["roofer"] * 4  # the worker that had it still has it
    wait_for(lambda: all("It is back" in team.said(each) for each in (first, second)))


@pytest.mark.deep
def test_a_worker_that_only_the_broker_cannot_reach_keeps_its_run(
    team: Team, leave: Callable[..., str], history: Journal, broker: RabbitMQ
) -> None:
    with proxy(broker.port) as (port, cut):
        run, apart = leave(), team.add(broker=f"amqp://guest:guest@127.0.0.1:{port}/")
        wait_for(lambda: "roofer" in calls(team.folder))
        other = team.add()
        cut.set()
        # The broker gives the run to the other one, which asks its owner in the history.
        wait_for(lambda: "is still running" in team.said(other), timeout_s=90)
        (team.folder / "tiles").touch()
        assert end_of(history, run) == "success"
        assert calls(team.folder) == ["mason", "roofer"]
        wait_for(lambda: f"{run}  success" in team.said(apart))


@pytest.mark.deep
def test_a_run_may_take_longer_than_the_broker_waits_for_a_word_of_it(
    site: Path, retinue: Give, postgres: Postgres
) -> None:
    brick = {"goal": "a brick", "nodes": [{"id": "n1", "agent": "mason", "instruction": "one"}]}
    (site / "brick.json").write_text(json.dumps(brick), encoding="utf-8")
    patience = "{consumer_timeout, 1000}, {channel_tick_interval, 500}"
    with running_broker(patience) as broker, ExitStack() as stack, Journal(url := postgres.fresh()) as history:
        team = Team(site, url, broker.url, stack)

        def leave(plan: str) -> str:
            return retinue("run", "--detach", "--plan", plan, "--store", url).out.strip()

        run, first = leave("house.json"), team.add()
        wait_for(lambda: "roofer" in calls(site))
        second = team.add()
        wait_for(lambda: "timed out waiting for delivery" in broker.log, timeout_s=90)
        assert [end_of(history, leave("brick.json")) for _ in range(3)] == ["success"] * 3
        assert (history.get(run).lifecycle, history.history(run).epoch) == ("working", 2)
        assert calls(site) == ["mason"] * 4 + ["roofer"]  # who has it still has it
        first.kill()  # though no message tells of the run any more
        wait_for(lambda: calls(site).count("roofer") == 2, timeout_s=90)
        (site / "tiles").touch()
        assert end_of(history, run) == "success"
        wait_for(lambda: f"{run}  success" in team.said(second))


def test_an_answered_run_and_one_that_was_handed_over_go_to_whoever_has_room(
    team: Team, leave: Callable[..., str], history: Journal, retinue: Give
) -> None:
    house, wall, first = leave(), leave("wall.json"), team.add()
    wait_for(lambda: history.get(wall).lifecycle == "input_required" and "roofer" in calls(team.folder))
    second = team.add()
    first.send_signal(signal.SIGTERM)
    assert retinue("runs", "answer", wall, "blue", "--store", team.store).code == 0
    assert end_of(history, wall) == "success"
    wait_for(lambda: calls(team.folder).count("roofer") == 2, timeout_s=90)
    (team.folder / "tiles").touch()
    assert end_of(history, house) == "success"
    assert first.wait(timeout=60) == 0
    assert "went back to the queue" in team.said(first)
    assert "success" in team.said(second)
    assert calls(team.folder).count("mason") == 1


def test_a_message_that_is_lost_is_sent_again_and_one_of_no_run_harms_nobody(
    team: Team, leave: Callable[..., str], history: Journal, broker: RabbitMQ
) -> None:
    (team.folder / "tiles").touch()
    run = leave()
    assert history.to_send(str(team.folder)) == [run]  # and it was lost
    process = team.add()
    assert end_of(history, run) == "success"

    async def send() -> None:
        async def never(_: str) -> bool:
            return False

        dispatch = RabbitDispatch(broker.url, [str(team.folder)], host=history.host, at_once=1, per_place=1)
        await dispatch.open(never)
        await dispatch.send("01nosuchrun", str(team.folder))
        await dispatch.close()

    asyncio.run(send())
    assert end_of(history, leave()) == "success"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0


@pytest.mark.deep
def test_a_run_from_a_broker_at_which_five_workers_died_has_failed(
    team: Team, leave: Callable[..., str], history: Journal
) -> None:
    plan = {"goal": "a hole", "nodes": [{"id": "n1", "agent": "bomb", "instruction": "one"}]}
    (team.folder / "hole.json").write_text(json.dumps(plan), encoding="utf-8")
    run = leave("hole.json")
    for _ in range(5):
        process = team.add()
        assert process.wait(timeout=60) == -signal.SIGKILL
    process = team.add("--burst")
    assert process.wait(timeout=60) == 0
    assert history.get(run).outcome == "failed"
    assert "5 workers have died" in team.said(process)


def test_a_broker_that_cannot_be_used_says_what_to_do(team: Team, retinue: Give, broker: RabbitMQ) -> None:
    for url, code, said, advice in (
        ("amqp://guest:s3cret@127.0.0.1:1/", 4, "127.0.0.1:1/ cannot be reached", "in its URL"),
        (f"amqp://guest:s3cret@127.0.0.1:{broker.port}/", 2, "does not let us in", "in its URL"),
        ("redis://:s3cret@127.0.0.1/", 2, "cannot be read", "Write `amqp://"),
    ):
        done = retinue("worker", "--store", team.store, "--broker", url)
        assert (done.code, done.out) == (code, "")
        assert said in done.err
        assert advice in done.err
        assert "s3cret" not in done.err


def test_a_worker_whose_consumer_was_lost_takes_messages_again(broker: RabbitMQ, tmp_path: Path) -> None:
    place, heard = str(tmp_path), list[str]()

    async def main() -> None:
        async def job(run: str) -> bool:
            heard.append(run)
            return True

        async def listen_once(receiver: Receiver, stop: asyncio.Event) -> None:
            await stop.wait()  # it hears nothing

        dispatch = RabbitDispatch(broker.url, [place], at_once=1, per_place=1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Receiver, "listen", listen_once)
            await dispatch.open(job)
            await dispatch.send("01run", place)
        end_s = time.monotonic() + 30
        while not heard and time.monotonic() < end_s:
            await dispatch.is_idle(place)
            await asyncio.sleep(0.2)
        await dispatch.close()

    asyncio.run(main())
    assert heard == ["01run"]


@pytest.mark.deep
def test_a_worker_outlives_a_database_that_is_away_for_long(site: Path, retinue: Give, postgres: Postgres) -> None:
    (site / "tiles").touch()
    store = postgres.fresh()
    with worker(site, "--store", store) as process:
        first = retinue("run", "--detach", "--plan", "house.json", "--store", store).out.strip()
        with Journal(store) as history:
            assert end_of(history, first) == "success"
        postgres.stop_hard()
        try:
            time.sleep(15)  # longer than a question waits
            assert process.poll() is None
        finally:
            postgres.start()
        second = retinue("run", "--detach", "--plan", "house.json", "--store", store).out.strip()
        with Journal(store) as history:
            assert end_of(history, second) == "success"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert "is away" in (process.stderr.read() if process.stderr else "")


def test_a_worker_of_several_folders_runs_no_more_at_once_than_it_may(broker: RabbitMQ, tmp_path: Path) -> None:
    places, heard = [str(tmp_path / name) for name in "ab"], list[str]()

    async def main() -> None:
        gate, both = asyncio.Event(), asyncio.Event()

        async def job(run: str) -> bool:
            heard.append(run)
            if len(heard) == len(places):
                both.set()
            await gate.wait()
            return True

        dispatch = RabbitDispatch(broker.url, places, at_once=1, per_place=1)
        await dispatch.open(job)
        for place in places:
            await dispatch.send(f"01{Path(place).name}", place)
        await asyncio.sleep(1)
        assert len(heard) == 1
        gate.set()
        await asyncio.wait_for(both.wait(), 20)
        await dispatch.close()

    asyncio.run(main())
    assert sorted(heard) == ["01a", "01b"]
