"""A clock that moves only when a test moves it, and a sleep that returns immediately."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass(slots=True)
class ManualClock:
    """Returns `now` when it is called. Assign to `now`, or call `advance` or `sleep`, to move it."""

    now: float = 1_000.0
    slept: list[float] = field(default_factory=list)

    @classmethod
    def at(cls, time: datetime) -> "ManualClock":
        return cls(time.timestamp())

    def __call__(self) -> float:
        return self.now

    def datetime(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)

    def advance(self, seconds: float) -> None:
        self.now += seconds

    async def sleep(self, seconds: float) -> None:
        """Returns immediately. The clock is later by these seconds."""
        self.slept.append(seconds)
        self.advance(seconds)


class RecordedSleep:
    """A sleep that returns immediately and adds up the seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0

    async def __call__(self, seconds: float) -> None:
        self.seconds += seconds
        await asyncio.sleep(0)
