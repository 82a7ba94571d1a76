"""Decisions with their reasons."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["identity", "boundary", "session", "resource"]


@dataclass(frozen=True, slots=True)
class Origin:
    """A statement: the kind of policy, which policy of that kind, which statement of it."""

    kind: Kind
    policy: int
    statement: int
    sid: str | None = None

    def __str__(self) -> str:
        named = f" ({self.sid})" if self.sid else ""
        return f"{self.kind}[{self.policy}].Statement[{self.statement}]{named}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """Every kind of policy that was asked has a statement that allows it; `by` is the one that granted."""

    by: Origin
    delegated: bool = False
    """A trust policy's: the caller's account is trusted as a whole, so that its identity policies must allow it too."""


@dataclass(frozen=True, slots=True)
class Denied:
    """Refused by a statement (`by`), or because no statement of this kind allows it (`by` is None)."""

    kind: Kind
    by: Origin | None = None

    @property
    def explicit(self) -> bool:
        return self.by is not None


Decision = Allowed | Denied
