"""`CategoryMover`: moves a category with its subcategories and products, in steps that can be resumed.

1. All categories of the tree are marked as LEAVING, so that nothing can be added to them.
2. Their copies are created under the new path, marked as ARRIVING, so that queries do not return them yet.
3. The products are moved to the copies.
4. Each category is deleted by the transaction that makes its copy visible. The root is the last, and ends the move.

Every transaction requires that the move has not ended, so that a late worker cannot repeat a step."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from keyfence.domains.categories.access_patterns import categories, category_by_path, last_move, moves
from keyfence.domains.categories.model import Category, CategoryMove, MoveId, MoveState, check_route, moved_count
from keyfence.domains.categories.repository import (
    CATEGORY_EXISTS,
    ParentUnavailable,
    parent_error,
    read_tree,
    require_parent,
)
from keyfence.errors import BadInput, Conflict, NotFound
from keyfence.store import timestamps
from keyfence.store.expressions import Condition, UpdateExpression, absent, equals
from keyfence.store.ids import new_id
from keyfence.store.key_template import KeyPath, checked_path
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES, Table
from keyfence.store.writes import ActivityNote, StaleWrite, Write, check, delete, put, retry_if_stale, update_attributes

MoveProducts = Callable[[KeyPath, KeyPath, Write[Any]], Awaitable[None]]
"""Moves the products of one category to another, in transactions that contain the given condition check."""

MOVE_BATCH = (MAX_SPLIT_TRANSACTION_WRITES - 1) // 2


class MoveEnded(Conflict):
    """Raised when another worker has ended the move."""

    def __init__(self) -> None:
        super().__init__("the move has ended")


def leaving(category: Category) -> Write[Any]:
    return update_attributes(
        categories, {"path": category.path}, UpdateExpression(sets={("moving",): MoveState.LEAVING})
    )


def arriving(category: Category, path: KeyPath, now: datetime) -> Category:
    return Category(path=path, created_at=category.created_at, updated_at=now, moving=MoveState.ARRIVING)


def path_change(before: KeyPath, after: KeyPath) -> dict[str, object]:
    """Returns the detail of an activity note about a changed path."""
    return {"before": {"path": before}, "after": {"path": after}}


@dataclass(frozen=True, slots=True)
class MoveRun:
    """Runs one move from its current state to its end."""

    table: Table
    move: CategoryMove
    move_products: MoveProducts
    now: Callable[[], datetime]

    async def run(self) -> int:
        """Returns how many categories were moved. If a new path is too long, cancels the move and raises BadInput."""
        leaving = await self._mark_leaving()
        try:
            routes = [(category, self.move.destination(category.path)) for category in leaving]
        except BadInput:
            await self._cancel(leaving)
            raise
        moved = await self._store_count(len(leaving))
        await self._create_copies(routes)
        for category, target in routes:
            if category.product_count:
                await self.move_products(category.path, target, self._check())
        await self._switch(routes)
        return moved

    async def _mark_leaving(self) -> list[Category]:
        """Marks all categories of the tree as LEAVING, and returns them once a read finds none that is not marked."""
        while True:
            found = await read_tree(self.table, self.move.source)
            if not found:
                raise MoveEnded()
            unmarked = [[leaving(category)] for category in found if category.moving is None]
            if not unmarked:
                return found
            await self._write(unmarked)

    async def _store_count(self, number: int) -> int:
        if self.move.moved is not None:
            return self.move.moved
        store_count = UpdateExpression(sets={("moved",): number})
        await self.table.write(update_attributes(moves, {}, store_count, when=self._under_way() & absent("moved")))
        return number

    async def _create_copies(self, routes: Sequence[tuple[Category, KeyPath]]) -> None:
        existing = {category.path for category in await read_tree(self.table, self.move.target)}
        missing = [arriving(category, path, self.now()) for category, path in routes if path not in existing]
        await self._write([[put(categories, category, when=absent())] for category in missing])

    async def _switch(self, routes: Sequence[tuple[Category, KeyPath]]) -> None:
        """Deletes the old categories and shows their copies, from the leaves to the root."""
        root, *below = [self._switch_writes(category, path) for category, path in routes]
        await self._write(below[::-1])
        await self.table.write(self._end(), *root)

    def _switch_writes(self, category: Category, path: KeyPath) -> list[Write[Any]]:
        is_empty = equals("productCount", 0)
        return [delete(categories, {"path": category.path}, when=is_empty), _unmark(path)]

    async def _cancel(self, leaving: Sequence[Category]) -> None:
        root, *below = [_unmark(category.path) for category in leaving]
        await self._write([[write] for write in below])
        delete_copy = delete(categories, {"path": self.move.target})
        await self.table.write(self._end(), root, delete_copy, note=self._cancelled_note())

    def _cancelled_note(self) -> ActivityNote:
        """Returns an activity note that reverses the one of the start of the move."""
        return ActivityNote("category.move_cancelled", None, path_change(self.move.target, self.move.source))

    def _end(self) -> Write[Any]:
        finish = UpdateExpression(sets={("finishedAt",): self.now()})
        return update_attributes(moves, {}, finish, when=self._under_way(), on_failure=MoveEnded)

    def _check(self) -> Write[Any]:
        return check(moves, {}, when=self._under_way(), on_failure=MoveEnded)

    def _under_way(self) -> Condition:
        return equals("id", self.move.id) & absent("finishedAt")

    async def _write(self, steps: Sequence[Sequence[Write[Any]]]) -> None:
        for start in range(0, len(steps), MOVE_BATCH):
            writes = [write for step in steps[start : start + MOVE_BATCH] for write in step]
            await self.table.write(self._check(), *writes)


def _unmark(path: KeyPath) -> Write[Any]:
    return update_attributes(categories, {"path": path}, UpdateExpression(removes=(("moving",),)))


CATEGORY_NOT_FOUND = partial(NotFound, "no such category")


@dataclass(frozen=True, slots=True)
class CategoryMover:
    """Moves categories. `move_products` moves the products of one category."""

    table: Table
    move_products: MoveProducts
    now: Callable[[], datetime] = timestamps.utc_now

    async def move(self, path: Sequence[str], to: Sequence[str]) -> int:
        """Returns how many categories were moved. The next call of any move finishes one that was interrupted."""
        source, target = checked_path(path, "path"), checked_path(to, "to")
        check_route(source, target)
        return await retry_if_stale(lambda: self._move(source, target))

    async def _move(self, source: KeyPath, target: KeyPath) -> int:
        last = await self.table.find(last_move)
        if last is None or not last.under_way:
            last = await self._begin(source, target, last)
        elif not last.has_route(source, target):
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
                put(categories, arriving(root, target, now), when=absent(), on_failure=CATEGORY_EXISTS),
                *require_parent(target),
                note=ActivityNote("category.moved", None, path_change(source, target)),
            )
        except ParentUnavailable:
            raise await parent_error(self.table, target, "to") from None
        return move

    async def _root(self, path: KeyPath) -> Category:
        if (root := await self.table.find(category_by_path, path=path)) is None:
            raise CATEGORY_NOT_FOUND()
        return root

    async def _finish(self, move: CategoryMove) -> int:
        return await retry_if_stale(lambda: self._continue(move.id))

    async def _continue(self, id: MoveId) -> int:
        """Another worker may run the same move at the same time, and end it."""
        move = await self.table.find(last_move)
        if move is None or move.id != id:
            raise CATEGORY_NOT_FOUND()
        if not move.under_way:
            return moved_count(move)
        try:
            return await MoveRun(self.table, move, self.move_products, self.now).run()
        except MoveEnded:
            raise StaleWrite() from None
