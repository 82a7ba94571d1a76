"""Where log lines go and how they look."""

import logging
from typing import TextIO

import structlog


def configure(*, as_json: bool, file: TextIO | None = None) -> None:
    """One JSON object a line for machines, coloured text for people, on stdout or in this file; nothing below INFO."""
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
