"""Somebody who is shown the calls that are made, and what became of them."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from keyfence.store.dynamodb.errors import Refused
from keyfence_iam.boundary import TenantId


class Asked(NamedTuple):
    """A call; `again` where it asks for nothing that was not asked for before, and turned away."""

    tenant: TenantId | None
    operation: str
    parameters: Mapping[str, Any]
    again: bool = False


class Watcher(Protocol):
    """Shown every call, and so to be quick."""

    def answered(self, asked: Asked, answer: Mapping[str, Any]) -> None: ...
    def refused(self, asked: Asked, refusal: Refused) -> None: ...


class Nobody:
    """Looks at nothing."""

    def answered(self, asked: Asked, answer: Mapping[str, Any]) -> None: ...
    def refused(self, asked: Asked, refusal: Refused) -> None: ...


NOBODY: Watcher = Nobody()
