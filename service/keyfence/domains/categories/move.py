"""Moving a subtree in resumable steps.

First nothing can be added any more to the tree that leaves. Its categories are made anew where they go, not shown yet.
What stands in them follows. Then each is shown there by the transaction that takes it away here, the root last, which
ends the move. Every transaction checks that the move has not ended, so that nobody late does any of this again."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from keyfence.domains.categories.access_patterns import categories, category_by_path, last_move, moves
from keyfence.domains.categories.model import Category, CategoryMove, MoveId, MoveState, checked_route, outcome
from keyfence.domains.categories.repository import EXISTS, ParentUnavailable, closed_because, read_tree, require_parent
from keyfence.errors import BadInput, Conflict, NotFound
from keyfence.store import timestamps
from keyfence.store.expressions import Condition, UpdateExpression, absent, equals
from keyfence.store.ids import new_id
from keyfence.store.key_template import KeyPath, checked_path
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES, Table
from keyfence.store.writes import ActivityNote, StaleWrite, Write, check, delete, put, retry_if_stale, update_attributes

MoveProducts = Callable[[KeyPath, KeyPath, Write[Any]], Awaitable[None]]
"""Brings what stands in one category into another, in transactions that contain the given check."""

CHUNK = (MAX_SPLIT_TRANSACTION_WRITES - 1) // 2


class MoveEnded(Conflict):
    """The move has ended by other hands."""

    def __init__(self) -> None:
        super().__init__("the move has ended")


def leaving(category: Category) -> Write[Any]:
    return update_attributes(
        categories, {"path": category.path}, UpdateExpression(sets={("moving",): MoveState.LEAVING})
    )


def arriving(category: Category, path: KeyPath, now: datetime) -> Category:
    return Category(path=path, created_at=category.created_at, updated_at=now, moving=MoveState.ARRIVING)


def path_change(before: KeyPath, after: KeyPath) -> dict[str, object]:
    """What the journal tells of a way."""
    return {"before": {"path": before}, "after": {"path": after}}


@dataclass(frozen=True, slots=True)
class MoveSteps:
    """One move, from wherever it stands to its end."""

    table: Table
    move: CategoryMove
    carry: MoveProducts
    now: Callable[[], datetime]

    async def run(self) -> int:
        """How many categories moved; BadInput when they would not fit where they go, and then they stay."""
        leaving = await self._still()
        try:
            routes = [(category, self.move.destination(category.path)) for category in leaving]
        except BadInput:
            await self._give_up(leaving)
            raise
        moved = await self._counted(len(leaving))
        await self._plant(routes)
        for category, target in routes:
            if category.product_count:
                await self.carry(category.path, target, self._check())
        await self._arrive(routes)
        return moved

    async def _still(self) -> list[Category]:
        """The tree that leaves, once a reading finds no category in it that still takes others or products."""
        while True:
            found = await read_tree(self.table, self.move.source)
            if not found:
                raise MoveEnded()
            loose = [[leaving(category)] for category in found if category.moving is None]
            if not loose:
                return found
            await self._write(loose)

    async def _counted(self, number: int) -> int:
        if self.move.moved is not None:
            return self.move.moved
        counted = UpdateExpression(sets={("moved",): number})
        await self.table.write(update_attributes(moves, {}, counted, when=self._under_way() & absent("moved")))
        return number

    async def _plant(self, routes: Sequence[tuple[Category, KeyPath]]) -> None:
        there = {category.path for category in await read_tree(self.table, self.move.target)}
        missing = [arriving(category, path, self.now()) for category, path in routes if path not in there]
        await self._write([[put(categories, category, when=absent())] for category in missing])

    async def _arrive(self, routes: Sequence[tuple[Category, KeyPath]]) -> None:
        """From the leaves to the root."""
        root, *below = [self._arrived(category, path) for category, path in routes]
        await self._write(below[::-1])
        await self.table.write(self._ended(), *root)

    def _arrived(self, category: Category, path: KeyPath) -> list[Write[Any]]:
        empty = equals("productCount", 0)
        return [delete(categories, {"path": category.path}, when=empty), _settled(path)]

    async def _give_up(self, leaving: Sequence[Category]) -> None:
        root, *below = [_settled(category.path) for category in leaving]
        await self._write([[write] for write in below])
        gone = delete(categories, {"path": self.move.target})
        await self.table.write(self._ended(), root, gone, note=self._stayed())

    def _stayed(self) -> ActivityNote:
        """Takes back what the journal has told since the move began."""
        return ActivityNote("category.stayed", None, path_change(self.move.target, self.move.source))

    def _ended(self) -> Write[Any]:
        ended = UpdateExpression(sets={("finishedAt",): self.now()})
        return update_attributes(moves, {}, ended, when=self._under_way(), on_failure=MoveEnded)

    def _check(self) -> Write[Any]:
        return check(moves, {}, when=self._under_way(), on_failure=MoveEnded)

    def _under_way(self) -> Condition:
        return equals("id", self.move.id) & absent("finishedAt")

    async def _write(self, steps: Sequence[Sequence[Write[Any]]]) -> None:
        for start in range(0, len(steps), CHUNK):
            writes = [write for step in steps[start : start + CHUNK] for write in step]
            await self.table.write(self._check(), *writes)


def _settled(path: KeyPath) -> Write[Any]:
    return update_attributes(categories, {"path": path}, UpdateExpression(removes=(("moving",),)))


MISSING = partial(NotFound, "no such category")


@dataclass(frozen=True, slots=True)
class CategoryMoves:
    """What moves categories; `carry` moves what stands in them."""

    table: Table
    carry: MoveProducts
    now: Callable[[], datetime] = timestamps.utc_now

    async def move(self, path: Sequence[str], to: Sequence[str]) -> int:
        """How many categories moved. What was interrupted is taken up by the same call, or by any other move."""
        source, target = checked_path(path, "path"), checked_path(to, "to")
        checked_route(source, target)
        return await retry_if_stale(lambda: self._move(source, target))

    async def _move(self, source: KeyPath, target: KeyPath) -> int:
        last = await self.table.find(last_move)
        if last is None or not last.under_way:
            last = await self._begin(source, target, last)
        elif not last.leads(source, target):
            with suppress(BadInput, NotFound):
                await self._finish(last)
            raise StaleWrite()
        return await self._finish(last)

    async def _begin(self, source: KeyPath, target: KeyPath, last: CategoryMove | None) -> CategoryMove:
        root = await self._root(source)
        now = self.now()
        move = CategoryMove(id=MoveId(new_id("mov")), source=source, target=target, created_at=now, updated_at=now)
        try:
            await self.table.write(
                put(moves, move, when=equals("id", last.id) if last else absent()),
                leaving(root),
                put(categories, arriving(root, target, now), when=absent(), on_failure=EXISTS),
                *require_parent(target),
                note=ActivityNote("category.moved", None, path_change(source, target)),
            )
        except ParentUnavailable:
            raise await closed_because(self.table, target, "to") from None
        return move

    async def _root(self, path: KeyPath) -> Category:
        if (root := await self.table.find(category_by_path, path=path)) is None:
            raise MISSING()
        return root

    async def _finish(self, move: CategoryMove) -> int:
        return await retry_if_stale(lambda: self._go_on(move.id))

    async def _go_on(self, id: MoveId) -> int:
        """Others may be at the same move, and even end it."""
        move = await self.table.find(last_move)
        if move is None or move.id != id:
            raise MISSING()
        if not move.under_way:
            return outcome(move)
        try:
            return await MoveSteps(self.table, move, self.carry, self.now).run()
        except MoveEnded:
            raise StaleWrite() from None
