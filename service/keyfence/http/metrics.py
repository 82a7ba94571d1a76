"""Counts of what was served, in Prometheus' text format. Each process counts for itself."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from keyfence.store.dynamodb.capacity import CapacityMeter

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Requests by status, errors by code, how long requests took, sessions, and what should never happen.

    None of it by tenant: of those there may be any number."""

    def __init__(
        self,
        meter: CapacityMeter | None = None,
        sessions: Mapping[str, int] | None = None,
        usage: Mapping[str, int] | None = None,
        refusals: Mapping[str, int] | None = None,
    ) -> None:
        self._meter = meter or CapacityMeter()
        self._sessions = {} if sessions is None else sessions
        self._usage = {} if usage is None else usage
        self._refusals = {} if refusals is None else refusals
        self._requests: Counter[int] = Counter()
        self._errors: Counter[str] = Counter()
        self._durations = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0
        self._foreign_items = 0
        self._denied_calls = 0
        self._differences: Counter[str] = Counter()

    def request(self, status: int, seconds: float) -> None:
        self._requests[status] += 1
        self._durations[bisect_left(BUCKETS, seconds)] += 1
        self._seconds += seconds

    def errors(self, codes: Iterable[str]) -> None:
        self._errors.update(codes)

    def foreign_item(self) -> None:
        """Somebody put a neighbour's prefix into an index key; the item was not shown."""
        self._foreign_items += 1

    def denied_call(self) -> None:
        """IAM refused what our own code should never have asked."""
        self._denied_calls += 1

    def reads_differ(self, operation: str) -> None:
        """Count a read for which the two tables of a tenant that is being moved gave different answers."""
        self._differences[operation] += 1

    def render(self) -> str:
        return "\n".join((*self._counters(), *self._histogram(), ""))

    def _counters(self) -> Iterator[str]:
        yield "# TYPE keyfence_http_requests_total counter"
        yield from (f'keyfence_http_requests_total{{status="{s}"}} {n}' for s, n in sorted(self._requests.items()))
        yield "# TYPE keyfence_graphql_errors_total counter"
        yield from (f'keyfence_graphql_errors_total{{code="{c}"}} {n}' for c, n in sorted(self._errors.items()))
        yield "# TYPE keyfence_dynamodb_calls_total counter"
        yield from (f'keyfence_dynamodb_calls_total{{operation="{o}"}} {n}' for o, n in self._meter.calls.items())
        yield "# TYPE keyfence_dynamodb_units_total counter"
        yield from (f'keyfence_dynamodb_units_total{{operation="{o}"}} {n}' for o, n in self._meter.units.items())
        yield "# TYPE keyfence_dynamodb_read_units_total counter"
        yield f"keyfence_dynamodb_read_units_total {self._meter.read_units}"
        yield "# TYPE keyfence_dynamodb_write_units_total counter"
        yield f"keyfence_dynamodb_write_units_total {self._meter.write_units}"
        yield "# TYPE keyfence_dynamodb_throttled_total counter"
        yield f"keyfence_dynamodb_throttled_total {self._meter.throttled}"
        yield "# TYPE keyfence_throttled_total counter"
        yield from (f'keyfence_throttled_total{{quota="{q}"}} {n}' for q, n in sorted(self._refusals.items()))
        yield "# TYPE keyfence_usage_leaves_total counter"
        yield from (f'keyfence_usage_leaves_total{{outcome="{o}"}} {n}' for o, n in self._usage.items())
        yield "# TYPE keyfence_foreign_items_total counter"
        yield f"keyfence_foreign_items_total {self._foreign_items}"
        yield "# TYPE keyfence_denied_calls_total counter"
        yield f"keyfence_denied_calls_total {self._denied_calls}"
        yield "# TYPE keyfence_shadow_differs_total counter"
        yield from (f'keyfence_shadow_differs_total{{operation="{o}"}} {n}' for o, n in self._differences.items())
        yield "# TYPE keyfence_sessions_total counter"
        yield from (f'keyfence_sessions_total{{event="{e}"}} {n}' for e, n in self._sessions.items())

    def _histogram(self) -> Iterator[str]:
        name, total = "keyfence_http_request_duration_seconds", 0
        yield f"# TYPE {name} histogram"
        for bound, count in zip((*BUCKETS, "+Inf"), self._durations, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self._seconds:.6f}"
        yield f"{name}_count {total}"
