"""`Policy`, `Statement` and `Condition`, and their JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Effect = Literal["Allow", "Deny"]
Version = Literal["2012-10-17", "2008-10-17"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One operator of a condition block, one of its keys, and the values that it compares with the key.

    `operator` is a full name such as `ForAllValues:StringLike`.
    """

    operator: str
    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement of a policy.

    It never has both an element and its negation, such as `actions` and `not_actions`. Only statements of trust and
    resource policies have principals.
    """

    effect: Effect
    sid: str | None = None
    actions: tuple[str, ...] = ()
    not_actions: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    not_resources: tuple[str, ...] = ()
    principals: Mapping[str, tuple[str, ...]] | None = field(default=None, hash=False)
    """Names by type of principal: AWS, Service, Federated. {"AWS": ("*",)} is everybody."""
    not_principals: Mapping[str, tuple[str, ...]] | None = field(default=None, hash=False)
    conditions: tuple[Condition, ...] = ()

    def as_json(self) -> dict[str, Any]:
        elements = {
            "Sid": self.sid,
            "Effect": self.effect,
            "Principal": _principals_as_json(self.principals),
            "NotPrincipal": _principals_as_json(self.not_principals),
            "Action": None if self.not_actions else list(self.actions),
            "NotAction": list(self.not_actions) or None,
            "Resource": self._resource_element(),
            "NotResource": list(self.not_resources) or None,
            "Condition": self._condition_block() or None,
        }
        return {name: value for name, value in elements.items() if value is not None}

    def _resource_element(self) -> list[str] | None:
        """Returns the element Resource, or None if the statement does not have it.

        Statements of trust policies do not have it. Statements of identity policies have it even if its list is empty,
        unless they have NotResource.
        """
        has_principals = self.principals is not None or self.not_principals is not None
        return None if self.not_resources or (has_principals and not self.resources) else list(self.resources)

    def _condition_block(self) -> dict[str, dict[str, Any]]:
        block: dict[str, dict[str, Any]] = {}
        for condition in self.conditions:
            block.setdefault(condition.operator, {})[condition.key] = _values_as_json(condition.values)
        return block


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy document."""

    statements: tuple[Statement, ...]
    version: Version = "2012-10-17"
    id: str | None = None

    def as_json(self) -> dict[str, Any]:
        optional_id = {"Id": self.id} if self.id else {}
        statements = [statement.as_json() for statement in self.statements]
        return {"Version": self.version, **optional_id, "Statement": statements}


def _principals_as_json(principals: Mapping[str, tuple[str, ...]] | None) -> dict[str, list[str]] | None:
    return None if principals is None else {kind: list(names) for kind, names in principals.items()}


def _values_as_json(values: tuple[str, ...]) -> str | list[str]:
    return values[0] if len(values) == 1 else list(values)
