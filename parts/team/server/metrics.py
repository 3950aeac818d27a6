"""What Prometheus may know: counts and times by route and status, and nothing of who asked or what."""

from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # up to the statement timeout of the engine


class Metrics:
    """The figures of one process; several of them are added up by whoever asks."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._seconds = Histogram(
            "oneiros_team_request_seconds",
            "Time to answer a request",
            ("route", "status"),
            buckets=SECONDS,
            registry=self.registry,
        )
        self._questions = Counter(
            "oneiros_team_questions", "What was asked of the memory", ("kind", "outcome"), registry=self.registry
        )

    def count_answer(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._seconds.labels(route, str(status)).observe(seconds)

    def count_question(self, kind: str, outcome: str) -> None:
        """The memory was asked, by REST or MCP, with an answer or the name of an error."""
        self._questions.labels(kind, outcome).inc()

    def serve(self, host: str, port: int) -> None:
        """Shows the figures at an address of their own, until the process ends."""
        start_http_server(port, host, registry=self.registry)
