"""The format of log lines, and the table of all events that are logged."""

import logging
from collections.abc import Mapping
from typing import TextIO

import structlog

EVENTS: Mapping[str, str] = {
    "request": "One HTTP request: method, path, status, milliseconds and request id.",
    "internal_error": "An error that the caller sees as INTERNAL: traceback and request id.",
    "readiness_check_failed": "Why `/readyz` answered 503.",
    "background_task_failed": "A background task raised an exception that it does not handle. It goes on.",
    "session_unavailable": "STS gave no session: role, tenant and reason.",
    "session_refresh_failed": "A round of renewing sessions raised an exception. The next round follows.",
    "session_replaced": "A session that DynamoDB refused was replaced by a new one.",
    "dynamodb_denied": "IAM denied a call: operation and AWS's message.",
    "dynamodb_refused": "DynamoDB refused a call after all attempts: operation, code and message.",
    "dynamodb_retry": "A call is repeated: operation, code and attempt.",
    "foreign_item_in_index": "An item in an index has another tenant's prefix in its key. It was dropped.",
    "shadow_differs": "The two tables of a tenant that is being moved give different answers: operation and index.",
    "shadow_unread": "The table that a tenant moves to could not be read for comparison: the reason.",
    "shadow_difference_not_stored": "A difference could not be counted for the move: the reason.",
    "jwks_unavailable": "The keys of an issuer could not be fetched: issuer and reason.",
    "tenant_over_quota": "A tenant's requests are refused for a quota. Logged once in ten seconds.",
    "usage_write_failed": "Usage could not be written. The next flush writes it.",
    "usage_lost": "Usage that could not be written for too long was dropped.",
    "traffic_publish_failed": "Hot partitions were not published, or the autopilot failed: the reason. It is repeated.",
    "partition_observer_failed": "The partitions of a call could not be counted. The call itself is not affected.",
    "autopilot_reshard_failed": "The autopilot could not start a reshard: the reason. It tries again in ten minutes.",
    "job_stopped": "A server could not continue a job: kind and reason. Resume it.",
    "job_failed": "A job raised an exception: kind and traceback.",
    "job_lease_not_renewed": "A worker could not renew the lease of its job: the reason. It tries again.",
    "export_restarted": "An export was damaged before anything was purged. It is written again.",
    "stray_in_index": "An index has an item of another tenant among those of a tenant that leaves: the partition.",
    "item_skipped": "A job left an item unchanged: its key and the reason.",
}
"""What each event means. Operators search the log for these names."""


def configure(*, as_json: bool, file: TextIO | None = None) -> None:
    """Log one JSON object a line, or colored text, to the file or to stdout. Events below INFO are dropped."""
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
