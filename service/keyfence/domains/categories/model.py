"""`Category` and `CategoryMove`, and checks of their fields that need no read of the table."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from keyfence.errors import BadInput
from keyfence.store.key_template import KeyPath, checked_path, is_within

MoveId = NewType("MoveId", str)


class MoveState(StrEnum):
    """The part of a category in a move: LEAVING is emptied and then deleted, ARRIVING is filled and then shown."""

    LEAVING = "LEAVING"
    ARRIVING = "ARRIVING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A category, with the number of products in it, without subcategories. Nothing can be added while it is moving."""

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
    """The latest move of a category in this tenant. `moved` is set when nothing can be added any more."""

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

    def has_route(self, source: KeyPath, target: KeyPath) -> bool:
        return (self.source, self.target) == (source, target)

    def destination(self, path: KeyPath) -> KeyPath:
        """Returns the new path of a category of the moved tree. Raises BadInput if it is too long."""
        return checked_path(self.target + path[len(self.source) :], "to")


def check_route(source: KeyPath, target: KeyPath) -> None:
    if is_within(target, source):
        raise BadInput("a category cannot be moved into itself", field="to")


def moved_count(move: CategoryMove) -> int:
    """Returns how many categories a finished move has moved. Raises BadInput if the move was cancelled."""
    if move.moved is None:
        raise BadInput("the subcategories do not fit under the new path", field="to")
    return move.moved


def is_visible(category: Category) -> bool:
    """Whether queries return the category. During a move they return it at its old path, so never twice."""
    return category.moving is not MoveState.ARRIVING
