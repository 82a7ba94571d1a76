"""Kinds of lines, and what is to be known of each."""

from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from keyfence.bulk.fields import Given
from keyfence.bulk.spelling import Line
from keyfence.bulk.writer import Writer
from keyfence.store.table import Table

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[R]):
    """How a record of this kind is read from a line and spelled in one, found in the table and written there."""

    name: str
    read: Callable[[Given], R]
    spell: Callable[[R], Line]
    find: Callable[[Table, Sequence[R]], Awaitable[list[R | None]]]
    """Those that are in the table under the same ids, whole."""
    write: Callable[[Writer, R], Awaitable[None]]
    """In a transaction that makes it be there; There when it was."""
    touches: Callable[[R], Iterable[Hashable]]
    """What records of this kind may have in common, so that they are written in turn."""
