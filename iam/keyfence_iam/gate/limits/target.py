"""One item that a call is about, by its key."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from keyfence_iam.gate.limits.claim import Partition
from keyfence_iam.gate.limits.layout import Layout

Identity = tuple[str, bytes]


class Target(NamedTuple):
    """Whether it is there or not."""

    table: str
    layout: Layout
    key: Mapping[str, Any]

    @property
    def partition(self) -> Partition:
        return self.layout.partition(self.table, self.key)

    @property
    def identity(self) -> Identity:
        return self.table, self.layout.identity(self.key)
