"""What the gate refused and why, kept for tests, metrics and whoever asks later."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from keyfence_iam.evaluator.decision import Denied

KEPT = 1000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeniedCall:
    """One refused call: what it was answered, and the reason, which the answer may not tell."""

    at: datetime
    session_arn: str
    operation: str
    action: str
    resource: str
    message: str
    reason: str
    decision: Denied | None = None
    """None where the call was not understood, or where it was the strict gate that refused."""


Listener = Callable[[DeniedCall], None]


def ignore(_: DeniedCall) -> None:
    """Nobody wants to be told."""


class DenialLog:
    """The latest denials, oldest first; each is also told to whoever listens."""

    def __init__(self, listener: Listener = ignore) -> None:
        self._kept: deque[DeniedCall] = deque(maxlen=KEPT)
        self._listener = listener

    def add(self, denial: DeniedCall) -> None:
        """What becomes of a listener is nothing to the caller that was refused."""
        self._kept.append(denial)
        try:
            self._listener(denial)
        except Exception:
            logger.exception("a denial could not be told")

    def clear(self) -> None:
        self._kept.clear()

    def __iter__(self) -> Iterator[DeniedCall]:
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)
