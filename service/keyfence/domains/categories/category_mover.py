"""`CategoryMover`: moves a category with its subcategories and products, in steps that can be resumed.

1. The category and its subcategories are marked as LEAVING, so that nothing can be added to them.
2. Their copies are created under the new path, marked as ARRIVING, so that queries do not return the copies yet.
3. The products are moved to the copies.
4. Each old category is deleted in the same transaction that makes its copy visible. The moved category itself is the
   last one, and its transaction ends the move.

Several workers may run the same move. Every transaction requires that the move has not ended, so that a slow worker
cannot repeat a step."""

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
"""A function that moves the products of the category at the first path to the second path. The third argument is a
condition check that every transaction must contain."""

MOVE_BATCH = (MAX_SPLIT_TRANSACTION_WRITES - 1) // 2
"""How many categories one transaction changes. Each needs at most two writes. One more write is the check that the move
has not ended."""


class MoveEnded(Conflict):
    """Raised if another worker has ended the move."""

    def __init__(self) -> None:
        super().__init__("the move has ended")


def mark_leaving(category: Category) -> Write[Any]:
    mark = UpdateExpression(sets={("moveState",): MoveState.LEAVING})
    return update_attributes(categories, {"path": category.path}, mark)


def arriving_copy(category: Category, path: KeyPath, now: datetime) -> Category:
    return Category(path=path, created_at=category.created_at, updated_at=now, move_state=MoveState.ARRIVING)


def path_change(before: KeyPath, after: KeyPath) -> dict[str, object]:
    """Returns the detail of an activity note about a changed path."""
    return {"before": {"path": before}, "after": {"path": after}}


@dataclass(frozen=True, slots=True)
class MoveRun:
    """Runs one move from its stored state to its end. Can be repeated after a failure."""

    table: Table
    move: CategoryMove
    move_products: MoveProducts
    now: Callable[[], datetime]

    async def run(self) -> int:
        """Moves the categories, and returns how many were moved.

        If the new path of a category is too long, cancels the move and raises BadInput."""
        leaving_categories = await self._mark_all_leaving()
        try:
            routes = [(category, self.move.new_path(category.path)) for category in leaving_categories]
        except BadInput:
            await self._cancel(leaving_categories)
            raise
        category_count = await self._store_count(len(leaving_categories))
        await self._create_copies(routes)
        for category, target in routes:
            if category.product_count:
                await self.move_products(category.path, target, self._check_under_way())
        await self._replace_by_copies(routes)
        return category_count

    async def _mark_all_leaving(self) -> list[Category]:
        """Marks the category and its subcategories as LEAVING, and returns all of them.

        Reads them again after each round, because a subcategory can be added until its parent is marked."""
        while True:
            found = await read_tree(self.table, self.move.source)
            if not found:
                raise MoveEnded()
            unmarked = [category for category in found if category.move_state is None]
            if not unmarked:
                return found
            await self._write_in_batches([[mark_leaving(category)] for category in unmarked])

    async def _store_count(self, category_count: int) -> int:
        """Stores and returns the number of categories. If an earlier run has stored it, returns the stored number,
        because that run may already have deleted some of the categories."""
        if self.move.category_count is not None:
            return self.move.category_count
        store_count = UpdateExpression(sets={("categoryCount",): category_count})
        condition = self._is_under_way() & absent("categoryCount")
        await self.table.write(update_attributes(moves, {}, store_count, when=condition))
        return category_count

    async def _create_copies(self, routes: Sequence[tuple[Category, KeyPath]]) -> None:
        existing = {category.path for category in await read_tree(self.table, self.move.target)}
        missing = [arriving_copy(category, path, self.now()) for category, path in routes if path not in existing]
        await self._write_in_batches([[put(categories, copy, when=absent())] for copy in missing])

    async def _replace_by_copies(self, routes: Sequence[tuple[Category, KeyPath]]) -> None:
        """Deletes each old category and makes its copy visible. Children come before their parents."""
        root_writes, *other_writes = [self._replacement(category, path) for category, path in routes]
        await self._write_in_batches(other_writes[::-1])
        await self.table.write(self._end_move(), *root_writes)

    def _replacement(self, category: Category, path: KeyPath) -> list[Write[Any]]:
        is_empty = equals("productCount", 0)
        return [delete(categories, {"path": category.path}, when=is_empty), _unmark(path)]

    async def _cancel(self, leaving_categories: Sequence[Category]) -> None:
        unmark_root, *other_unmarks = [_unmark(category.path) for category in leaving_categories]
        await self._write_in_batches([[unmark] for unmark in other_unmarks])
        delete_copy = delete(categories, {"path": self.move.target})
        await self.table.write(self._end_move(), unmark_root, delete_copy, note=self._cancelled_note())

    def _cancelled_note(self) -> ActivityNote:
        """Returns the activity note of a cancelled move: the path changes from the target back to the source."""
        return ActivityNote("category.move_cancelled", None, path_change(self.move.target, self.move.source))

    def _end_move(self) -> Write[Any]:
        finish = UpdateExpression(sets={("finishedAt",): self.now()})
        return update_attributes(moves, {}, finish, when=self._is_under_way(), on_failure=MoveEnded)

    def _check_under_way(self) -> Write[Any]:
        return check(moves, {}, when=self._is_under_way(), on_failure=MoveEnded)

    def _is_under_way(self) -> Condition:
        return equals("id", self.move.id) & absent("finishedAt")

    async def _write_in_batches(self, writes_of_each: Sequence[Sequence[Write[Any]]]) -> None:
        """Writes transactions that each change several categories. The writes of one category stay together."""
        for start in range(0, len(writes_of_each), MOVE_BATCH):
            batch = [write for writes in writes_of_each[start : start + MOVE_BATCH] for write in writes]
            await self.table.write(self._check_under_way(), *batch)


def _unmark(path: KeyPath) -> Write[Any]:
    return update_attributes(categories, {"path": path}, UpdateExpression(removes=(("moveState",),)))


CATEGORY_NOT_FOUND = partial(NotFound, "no such category")


@dataclass(frozen=True, slots=True)
class CategoryMover:
    """Moves categories of the tenant that the table belongs to."""

    table: Table
    move_products: MoveProducts
    now: Callable[[], datetime] = timestamps.utc_now

    async def move(self, path: Sequence[str], to: Sequence[str]) -> int:
        """Moves a category, and returns how many categories were moved.

        If an earlier move of another category was interrupted, finishes that move first."""
        source, target = checked_path(path, "path"), checked_path(to, "to")
        check_route(source, target)
        return await retry_if_stale(lambda: self._move(source, target))

    async def _move(self, source: KeyPath, target: KeyPath) -> int:
        last = await self.table.find(last_move)
        if last is None or not last.is_under_way:
            last = await self._begin(source, target, last)
        elif not last.has_route(source, target):
            with suppress(BadInput, NotFound):
                await self._finish(last)
            raise StaleWrite()  # so that `move` tries again, now that no move is under way
        return await self._finish(last)

    async def _begin(self, source: KeyPath, target: KeyPath, last: CategoryMove | None) -> CategoryMove:
        root = await self._get_category(source)
        now = self.now()
        move = CategoryMove(id=MoveId(new_id("mov")), source=source, target=target, created_at=now, updated_at=now)
        try:
            await self.table.write(
                put(moves, move, when=equals("id", last.id) if last else absent()),
                mark_leaving(root),
                put(categories, arriving_copy(root, target, now), when=absent(), on_failure=CATEGORY_EXISTS),
                *require_parent(target),
                note=ActivityNote("category.moved", None, path_change(source, target)),
            )
        except ParentUnavailable:
            raise await parent_error(self.table, target, "to") from None
        return move

    async def _get_category(self, path: KeyPath) -> Category:
        if (category := await self.table.find(category_by_path, path=path)) is None:
            raise CATEGORY_NOT_FOUND()
        return category

    async def _finish(self, move: CategoryMove) -> int:
        return await retry_if_stale(lambda: self._continue(move.id))

    async def _continue(self, id: MoveId) -> int:
        """Runs the move from its stored state. If another worker has finished the move, only returns its result."""
        move = await self.table.find(last_move)
        if move is None or move.id != id:
            raise CATEGORY_NOT_FOUND()
        if not move.is_under_way:
            return moved_count(move)
        try:
            return await MoveRun(self.table, move, self.move_products, self.now).run()
        except MoveEnded:
            raise StaleWrite() from None
