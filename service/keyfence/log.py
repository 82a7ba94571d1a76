"""Configures the format of log lines, lists all events that are logged, and limits how often one is logged."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import TextIO

import structlog

EVENTS: Mapping[str, str] = {
    "request": "One HTTP request: method, path, status, milliseconds and request id.",
    "internal_error": "The caller got the error INTERNAL: traceback and request id.",
    "readiness_check_failed": "`/readyz` answered 503: the reason.",
    "background_task_failed": "A background task raised an exception. The task runs again after its interval.",
    "session_unavailable": "An outage of STS has begun: the reason, and the role and tenant of the failed request.",
    "session_refused": "STS refuses the sessions of a role: role, tenant, reason, and what to do.",
    "session_available": "STS issues sessions again, after `session_unavailable` or `session_refused`.",
    "session_refresh_failed": "The thread that renews STS sessions raised an exception. The thread tries again.",
    "session_replaced": "DynamoDB refused a session. It was replaced by a new session.",
    "dynamodb_denied": "IAM denied a call: operation and AWS's message.",
    "dynamodb_failed": "A DynamoDB call failed after all attempts: operation, code and message.",
    "dynamodb_retry": "A call is repeated: operation, code and attempt.",
    "foreign_item_in_index": "An index of `tenant` returned items of the tenant `owner`. The result does not contain"
    " them. Logged at most once in ten seconds.",
    "second_table_differs": "The two tables of a tenant that is being moved gave different answers: operation, index.",
    "comparison_read_failed": "A table of a tenant that is being moved could not be read for a comparison: the reason.",
    "read_difference_not_stored": "A difference could not be counted for the move: the reason.",
    "token_refused": "A token has no valid signature of an accepted issuer: the reason, the issuer and the kid.",
    "jwks_unavailable": "The keys of an issuer could not be fetched: issuer and reason.",
    "tenant_over_quota": "A tenant exceeds a quota, so requests are refused. Logged at most once in ten seconds.",
    "usage_write_failed": "The usage of tenants could not be written. The next attempt includes it.",
    "usage_lost": "Usage of tenants was dropped, because it could not be written for too long.",
    "traffic_publish_failed": "Hot partitions were not published, or the autopilot failed: the reason. Both try again.",
    "partition_traffic_not_counted": "A call could not be counted for its partitions. The call itself is not affected.",
    "autopilot_reshard_failed": "The autopilot could not start a reshard: the reason. It tries again in ten minutes.",
    "job_stopped": "A server could not continue a job: kind and reason. Resume the job.",
    "job_failed": "A job raised an exception: kind and traceback.",
    "job_lease_not_renewed": "A worker could not renew the lease of its job: the reason. It tries again.",
    "export_restarted": "The file of an export is damaged, and no item was deleted yet. The export starts again.",
    "stray_in_index": "An index partition of a tenant that is being offboarded has an item of another tenant: its PK.",
    "item_skipped": "A job left an item unchanged: its key and the reason.",
}
"""The meaning of each event. Operators search the log for these names."""

LOG_INTERVAL_SECONDS = 10.0
"""The shortest time between two log lines of an `EventThrottle`."""


@dataclass(slots=True)
class EventThrottle:
    """Limits how often one event about one subject is logged, such as the refusals of one tenant."""

    logged_at: float = -inf
    _unlogged_count: int = 0

    def count(self, events: int, now: float) -> int:
        """Counts events. Returns how many happened since the last log line, or 0 if it is too early to log again."""
        self._unlogged_count += events
        if now - self.logged_at < LOG_INTERVAL_SECONDS:
            return 0
        count, self._unlogged_count, self.logged_at = self._unlogged_count, 0, now
        return count


def configure(*, as_json: bool, file: TextIO | None = None) -> None:
    """Writes log lines to `file` or to stdout, as JSON objects or as colored text. Events below INFO are dropped."""
    renderer = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([structlog.processors.format_exc_info] if as_json else []),
            renderer,
        ],
        logger_factory=structlog.PrintLoggerFactory(file),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
