"""What a server counts, in the text format of Prometheus: never who asked, nor for what."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ["door", "agent"]
        self._requests = Counter(
            "retinue_requests", "Requests answered.", ["door", "method", "status"], registry=self._registry
        )
        self._runs = Counter("retinue_runs", "Runs ended.", [*labels, "outcome"], registry=self._registry)
        self._seconds = Histogram("retinue_run_seconds", "How long runs took.", labels, registry=self._registry)
        self._open = Gauge("retinue_open_runs", "Runs that have not ended.", labels, registry=self._registry)

    def count_request(self, door: str, method: str, status: int) -> None:
        """Count an answer."""
        self._requests.labels(door, method, str(status)).inc()

    def begin_run(self, door: str, agent: str) -> None:
        """Count a run that has begun."""
        self._open.labels(door, agent).inc()

    def end_run(self, door: str, agent: str, outcome: str, seconds: float) -> None:
        """Count a run that has ended, or was left because the server stops."""
        self._open.labels(door, agent).dec()
        self._runs.labels(door, agent, outcome).inc()
        self._seconds.labels(door, agent).observe(seconds)

    def text(self) -> bytes:
        """All of it."""
        return generate_latest(self._registry)
