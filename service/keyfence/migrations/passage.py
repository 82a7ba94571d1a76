"""A pass: one way over all items of a table or of an index, with what is to be done to them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from keyfence.migrations.done import Done
from keyfence.store.codec import Item
from keyfence.store.entity import Index
from keyfence.store.keys import Fence

Step = Callable[[Sequence[Item]], Awaitable[Done]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Every item that is there throughout is given to `step`, once, and again where a worker died before it counted.

    So a step does nothing a second time to an item that it has dealt with."""

    name: str
    step: Step
    inside: Fence | None = None
    """Only items of this fence; of all where it is None."""
    index: Index = "table"
    table: str | None = None
    """Another table than the service's own."""
    whole: bool = False
    """In one piece: for steps that take items away, since an engine may lose its place in a segment by that."""
