"""`Category` and `CategoryMove`, and checks of their fields that need no read of the table."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from keyfence.errors import BadInput
from keyfence.store.key_template import KeyPath, checked_path, is_within

MoveId = NewType("MoveId", str)


class MoveState(StrEnum):
    """The state of a category during a move. A LEAVING category is at the old path: it is emptied and then deleted.

    An ARRIVING category is the copy at the new path: it is filled and then becomes visible."""

    LEAVING = "LEAVING"
    ARRIVING = "ARRIVING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A category of products. `product_count` does not include the products of subcategories.

    While `move_state` is set, nothing can be added to the category."""

    path: KeyPath
    created_at: datetime
    updated_at: datetime
    product_count: int = 0
    move_state: MoveState | None = None
    version: int = 1

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def depth(self) -> int:
        return len(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryMove:
    """The latest move of a category in this tenant.

    `category_count` is the number of categories that move. It is None until nothing can be added to them any more."""

    id: MoveId
    source: KeyPath
    target: KeyPath
    created_at: datetime
    updated_at: datetime
    category_count: int | None = None
    finished_at: datetime | None = None
    version: int = 1

    @property
    def is_under_way(self) -> bool:
        return self.finished_at is None

    def has_route(self, source: KeyPath, target: KeyPath) -> bool:
        return (self.source, self.target) == (source, target)

    def new_path(self, path: KeyPath) -> KeyPath:
        """Returns the new path of a category that moves. Raises BadInput if the new path is too long."""
        return checked_path(self.target + path[len(self.source) :], "to")


def check_route(source: KeyPath, target: KeyPath) -> None:
    """Raises BadInput if the target is the source, or below it."""
    if is_within(target, source):
        raise BadInput("a category cannot be moved into itself", field="to")


def moved_count(move: CategoryMove) -> int:
    """Returns how many categories a finished move has moved. Raises BadInput if the move was cancelled.

    A move is cancelled only if the new path of a subcategory would be too long."""
    if move.category_count is None:
        raise BadInput("the path of a subcategory would be too long under the new path", field="to")
    return move.category_count


def is_visible(category: Category) -> bool:
    """Whether queries return the category. During a move they return it only at its old path, so never twice."""
    return category.move_state is not MoveState.ARRIVING
