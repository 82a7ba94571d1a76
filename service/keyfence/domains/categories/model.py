"""Categories and their moves, and the rules that hold without looking anything up."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from keyfence.errors import BadInput
from keyfence.store.key_template import KeyPath, checked_path, is_within

MoveId = NewType("MoveId", str)


class MoveState(StrEnum):
    """What a move does to a category: it is emptied and will go, or is filled and will be shown."""

    LEAVING = "LEAVING"
    ARRIVING = "ARRIVING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A place in the tree, with the number of products that stand right in it; nothing is added while it is moving."""

    path: KeyPath
    created_at: datetime
    updated_at: datetime
    product_count: int = 0
    moving: MoveState | None = None
    version: int = 1

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def depth(self) -> int:
        return len(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryMove:
    """The tenant's last move of a category, under way until it is finished; `moved` is known once nothing is added."""

    id: MoveId
    source: KeyPath
    target: KeyPath
    created_at: datetime
    updated_at: datetime
    moved: int | None = None
    finished_at: datetime | None = None
    version: int = 1

    @property
    def under_way(self) -> bool:
        return self.finished_at is None

    def leads(self, source: KeyPath, target: KeyPath) -> bool:
        return (self.source, self.target) == (source, target)

    def destination(self, path: KeyPath) -> KeyPath:
        """Where a category of the moved tree comes to stand."""
        return checked_path(self.target + path[len(self.source) :], "to")


def checked_route(source: KeyPath, target: KeyPath) -> None:
    if is_within(target, source):
        raise BadInput("a category cannot be moved into itself", field="to")


def outcome(move: CategoryMove) -> int:
    """What came of a move that has ended; one that was given up moved nothing."""
    if move.moved is None:
        raise BadInput("what is below the category does not fit under the new path", field="to")
    return move.moved


def is_shown(category: Category) -> bool:
    """A category on its way is shown where it leaves until it has arrived, so that it is never shown twice."""
    return category.moving is not MoveState.ARRIVING
