"""Who goes first where there is one processor for all: a tenant that asks for more than its quota gives way."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from keyfence.store.lane import Lane

GIVES_WAY_SECONDS = 0.025
"""For how long one request gives way in all: a tenant that is over its quota must still get its quota."""


@dataclass(slots=True)
class Precedence:
    """Counts the requests under way that nobody goes before."""

    _ahead: int = 0
    _behind: "set[asyncio.Future[None]]" = field(default_factory=set)

    @contextmanager
    def ahead(self) -> Iterator[None]:
        self._ahead += 1
        try:
            yield
        finally:
            self._ahead -= 1
            if not self._ahead:
                self._wave_on()

    async def give_way(self, seconds: float) -> float:
        """While anybody is ahead, and no longer than that; for how long it was."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        until = begun + seconds
        while self._ahead and (left := until - loop.time()) > 0:
            turn: asyncio.Future[None] = loop.create_future()
            self._behind.add(turn)
            try:
                await asyncio.wait({turn}, timeout=left)
            finally:
                self._behind.discard(turn)
        return loop.time() - begun

    def _wave_on(self) -> None:
        for turn in self._behind:
            if not turn.done():
                turn.set_result(None)


@dataclass(slots=True)
class Way:
    """The calls of one request: each waits for its tenant's lane. Where its tenant has to give way, it does so before a
    call goes out and before its answer is worked on."""

    lane: Lane
    precedence: Precedence
    patience: float = 0.0

    async def give_way(self) -> None:
        if self.patience:
            waited = await self.precedence.give_way(self.patience)
            self.patience = max(0.0, self.patience - waited)

    async def __aenter__(self) -> None:
        await self.give_way()
        await self.lane.__aenter__()

    async def __aexit__(self, *_: object) -> None:
        await self.lane.__aexit__()
        await self.give_way()
