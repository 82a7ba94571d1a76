"""`DenialLog`: the latest calls that the gate denied, and why, for tests, metrics and the console."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from keyfence_iam.evaluator.decision import Denied

MAX_DENIALS = 1000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeniedCall:
    """A denied call: the message in the response, and the reason, which the response does not contain."""

    denied_at: datetime
    session_arn: str
    operation: str
    action: str
    resource: str
    message: str
    reason: str
    decision: Denied | None = None
    """None if no policy decided: the gate does not support the request, or the index key check failed."""


OnDenied = Callable[[DeniedCall], None]


def ignore(_: DeniedCall) -> None:
    """Does nothing."""


class DenialLog:
    """Keeps the latest denials, oldest first, and passes each to `on_denied`."""

    def __init__(self, on_denied: OnDenied = ignore) -> None:
        self._denials: deque[DeniedCall] = deque(maxlen=MAX_DENIALS)
        self._on_denied = on_denied

    def add(self, denial: DeniedCall) -> None:
        """An error in the callback must not change the response to the denied caller. It is logged."""
        self._denials.append(denial)
        try:
            self._on_denied(denial)
        except Exception:
            logger.exception("the callback for denied calls failed")

    def clear(self) -> None:
        self._denials.clear()

    def __iter__(self) -> Iterator[DeniedCall]:
        return iter(tuple(self._denials))

    def __len__(self) -> int:
        return len(self._denials)
