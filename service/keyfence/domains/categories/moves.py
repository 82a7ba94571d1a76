"""Moves of categories with all below them, one at a time, each finished by whoever comes next if need be."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from keyfence.domains.categories.access import categories, category_by_path, last_move, moves
from keyfence.domains.categories.model import Category, Move, MoveId, checked_route, outcome
from keyfence.domains.categories.passage import Carry, Over, Passage, arriving, leaving, told
from keyfence.domains.categories.repository import EXISTS, Closed, below_parent, closed_because
from keyfence.errors import BadInput, NotFound
from keyfence.store import clock
from keyfence.store.expressions import absent, equals
from keyfence.store.ids import new_id
from keyfence.store.note import Note
from keyfence.store.path import Path, checked_path
from keyfence.store.retry import unless_stale
from keyfence.store.table import Table
from keyfence.store.write import Stale, put

MISSING = partial(NotFound, "no such category")


@dataclass(frozen=True, slots=True)
class Moves:
    """What moves categories; `carry` moves what stands in them."""

    table: Table
    carry: Carry
    now: Callable[[], datetime] = clock.now

    async def move(self, path: Sequence[str], to: Sequence[str]) -> int:
        """How many categories moved. What was interrupted is taken up by the same call, or by any other move."""
        source, target = checked_path(path, "path"), checked_path(to, "to")
        checked_route(source, target)
        return await unless_stale(lambda: self._move(source, target))

    async def _move(self, source: Path, target: Path) -> int:
        last = await self.table.find(last_move)
        if last is None or not last.under_way:
            last = await self._begin(source, target, last)
        elif not last.leads(source, target):
            with suppress(BadInput, NotFound):
                await self._finish(last)
            raise Stale()
        return await self._finish(last)

    async def _begin(self, source: Path, target: Path, last: Move | None) -> Move:
        root = await self._root(source)
        now = self.now()
        move = Move(id=MoveId(new_id("mov")), source=source, target=target, created_at=now, updated_at=now)
        try:
            await self.table.write(
                put(moves, move, when=equals("id", last.id) if last else absent()),
                leaving(root),
                put(categories, arriving(root, target, now), when=absent(), otherwise=EXISTS),
                *below_parent(target),
                note=Note("category.moved", None, told(source, target)),
            )
        except Closed:
            raise await closed_because(self.table, target, "to") from None
        return move

    async def _root(self, path: Path) -> Category:
        if (root := await self.table.find(category_by_path, path=path)) is None:
            raise MISSING()
        return root

    async def _finish(self, move: Move) -> int:
        return await unless_stale(lambda: self._go_on(move.id))

    async def _go_on(self, id: MoveId) -> int:
        """Others may be at the same move, and even end it."""
        move = await self.table.find(last_move)
        if move is None or move.id != id:
            raise MISSING()
        if not move.under_way:
            return outcome(move)
        try:
            return await Passage(self.table, move, self.carry, self.now).run()
        except Over:
            raise Stale() from None
