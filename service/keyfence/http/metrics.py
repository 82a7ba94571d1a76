"""`Metrics`: the counters of this process, in the text format of Prometheus. `METRICS` explains each metric."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyfence.store.dynamodb.capacity import CapacityMeter

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKET_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histogram of request durations, in seconds."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric that `/metrics` serves. `label` is empty if the metric has only one value."""

    name: str
    label: str
    help: str
    type: str = "counter"


REQUESTS = Metric("keyfence_http_requests_total", "status", "HTTP responses by status.")
DURATION = Metric(
    "keyfence_http_request_duration_seconds", "le", "Time from the request to the end of its response.", "histogram"
)
ERRORS = Metric(
    "keyfence_graphql_errors_total", "code", "Errors in responses by code. Errors of single fields are included."
)
OVER_QUOTA = Metric(
    "keyfence_requests_over_quota_total", "quota", "Requests refused because a quota of their tenant was used up."
)
CLOSED_CONNECTIONS = Metric(
    "keyfence_closed_connections_total", "limit", "Connections closed because the client exceeded a limit."
)
CALLS = Metric("keyfence_dynamodb_calls_total", "operation", "DynamoDB calls.")
UNITS = Metric("keyfence_dynamodb_units_total", "operation", "Capacity units that DynamoDB calls consumed.")
READ_UNITS = Metric("keyfence_dynamodb_read_units_total", "", "Read units consumed.")
WRITE_UNITS = Metric("keyfence_dynamodb_write_units_total", "", "Write units consumed.")
THROTTLED = Metric("keyfence_dynamodb_throttled_calls_total", "", "Calls that DynamoDB throttled.")
DENIED = Metric("keyfence_dynamodb_denied_calls_total", "", "Calls that IAM denied.")
FOREIGN_ITEMS = Metric(
    "keyfence_foreign_items_total",
    "",
    "Items that a query found in an index, but whose key has another tenant's prefix. They are not returned.",
)
DIFFERENCES = Metric(
    "keyfence_second_table_differences_total",
    "operation",
    "Reads for which the two tables of a tenant that is being moved gave different answers.",
)
SESSIONS = Metric(
    "keyfence_sts_sessions_total",
    "event",
    "STS sessions that were issued or renewed, and requests for sessions that failed or were throttled.",
)
USAGE = Metric(
    "keyfence_usage_entries_total",
    "outcome",
    "Entries with the usage of one tenant in one hour that were written, could not be written, or were lost.",
)

METRICS = (
    REQUESTS,
    DURATION,
    ERRORS,
    OVER_QUOTA,
    CLOSED_CONNECTIONS,
    CALLS,
    UNITS,
    READ_UNITS,
    WRITE_UNITS,
    THROTTLED,
    DENIED,
    FOREIGN_ITEMS,
    DIFFERENCES,
    SESSIONS,
    USAGE,
)


class Metrics:
    """Counts requests and errors, and renders them together with the counters of other objects.

    No metric has the tenant as a label, because the number of tenants has no bound."""

    def __init__(
        self,
        meter: CapacityMeter | None = None,
        sessions: Mapping[str, int] | None = None,
        usage: Mapping[str, int] | None = None,
        refusals: Mapping[str, int] | None = None,
        closed_connections: Mapping[Any, int] | None = None,
    ) -> None:
        self._meter = meter or CapacityMeter()
        self._sessions = {} if sessions is None else sessions
        self._usage = {} if usage is None else usage
        self._refusals = {} if refusals is None else refusals
        self._closed_connections = {} if closed_connections is None else closed_connections
        self._requests: Counter[int] = Counter()
        self._errors: Counter[str] = Counter()
        self._request_count_by_bucket = [0] * (len(BUCKET_BOUNDS) + 1)
        self._total_seconds = 0.0
        self._foreign_items = 0
        self._denied_calls = 0
        self._differences: Counter[str] = Counter()

    def count_request(self, status: int, seconds: float) -> None:
        self._requests[status] += 1
        self._request_count_by_bucket[bisect_left(BUCKET_BOUNDS, seconds)] += 1
        self._total_seconds += seconds

    def count_errors(self, codes: Iterable[str]) -> None:
        self._errors.update(codes)

    def count_foreign_items(self, count: int) -> None:
        self._foreign_items += count

    def count_denied_call(self) -> None:
        self._denied_calls += 1

    def count_read_difference(self, operation: str) -> None:
        self._differences[operation] += 1

    def render(self) -> str:
        return "\n".join((*self._lines(), ""))

    def _lines(self) -> Iterator[str]:
        meter = self._meter
        values_by_metric: dict[Metric, Mapping[Any, object]] = {
            REQUESTS: dict(sorted(self._requests.items())),
            ERRORS: dict(sorted(self._errors.items())),
            OVER_QUOTA: dict(sorted(self._refusals.items())),
            CLOSED_CONNECTIONS: dict(sorted(self._closed_connections.items())),
            CALLS: meter.calls,
            UNITS: meter.units,
            READ_UNITS: {"": meter.read_units},
            WRITE_UNITS: {"": meter.write_units},
            THROTTLED: {"": meter.throttled_calls},
            DENIED: {"": self._denied_calls},
            FOREIGN_ITEMS: {"": self._foreign_items},
            DIFFERENCES: self._differences,
            SESSIONS: self._sessions,
            USAGE: self._usage,
        }
        for metric in METRICS:
            yield f"# HELP {metric.name} {metric.help}"
            yield f"# TYPE {metric.name} {metric.type}"
            if metric is DURATION:
                yield from self._histogram()
            else:
                yield from (
                    _line(metric, label_value, value) for label_value, value in values_by_metric[metric].items()
                )

    def _histogram(self) -> Iterator[str]:
        name, cumulative_count = DURATION.name, 0
        for bound, count in zip((*BUCKET_BOUNDS, "+Inf"), self._request_count_by_bucket, strict=True):
            cumulative_count += count
            yield f'{name}_bucket{{le="{bound}"}} {cumulative_count}'
        yield f"{name}_sum {self._total_seconds:.6f}"
        yield f"{name}_count {cumulative_count}"


def _line(metric: Metric, label_value: object, value: object) -> str:
    labels = f'{{{metric.label}="{label_value}"}}' if metric.label else ""
    return f"{metric.name}{labels} {value}"
