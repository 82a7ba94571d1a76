"""`Policy`, `Statement`, `Condition`, their JSON, their size as IAM counts it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Effect = Literal["Allow", "Deny"]
Version = Literal["2012-10-17", "2008-10-17"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One line of a condition block: `operator` as written, with its set prefix and its IfExists."""

    operator: str
    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement; of each pair `x` and `not_x` one is given, principals only in trust and resource policies."""

    effect: Effect
    sid: str | None = None
    actions: tuple[str, ...] = ()
    not_actions: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    not_resources: tuple[str, ...] = ()
    principals: Mapping[str, tuple[str, ...]] | None = field(default=None, hash=False)
    """By kind: AWS, Service, Federated; {"AWS": ("*",)} is everybody."""
    not_principals: Mapping[str, tuple[str, ...]] | None = field(default=None, hash=False)
    conditions: tuple[Condition, ...] = ()

    def as_json(self) -> dict[str, Any]:
        written = {
            "Sid": self.sid,
            "Effect": self.effect,
            "Principal": _listed(self.principals),
            "NotPrincipal": _listed(self.not_principals),
            "Action": None if self.not_actions else list(self.actions),
            "NotAction": list(self.not_actions) or None,
            "Resource": self._resources(),
            "NotResource": list(self.not_resources) or None,
            "Condition": self._condition_block() or None,
        }
        return {name: value for name, value in written.items() if value is not None}

    def _resources(self) -> list[str] | None:
        """An identity policy that lists none says so; a trust policy has no place for them."""
        named = self.principals is not None or self.not_principals is not None
        return None if self.not_resources or (named and not self.resources) else list(self.resources)

    def _condition_block(self) -> dict[str, dict[str, Any]]:
        block: dict[str, dict[str, Any]] = {}
        for condition in self.conditions:
            block.setdefault(condition.operator, {})[condition.key] = _one_or_list(condition.values)
        return block


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy document."""

    statements: tuple[Statement, ...]
    version: Version = "2012-10-17"
    id: str | None = None

    def as_json(self) -> dict[str, Any]:
        identified = {"Id": self.id} if self.id else {}
        statements = [statement.as_json() for statement in self.statements]
        return {"Version": self.version, **identified, "Statement": statements}


def _listed(principals: Mapping[str, tuple[str, ...]] | None) -> dict[str, list[str]] | None:
    return None if principals is None else {kind: list(names) for kind, names in principals.items()}


def _one_or_list(values: tuple[str, ...]) -> str | list[str]:
    return values[0] if len(values) == 1 else list(values)


MAX_INLINE_SIZE = 10_240
"""The characters of all inline policies of one role together; blanks are not counted."""
MAX_MANAGED_SIZE = 6_144
"""The characters of a managed policy, which a boundary is."""
MAX_TRUST_SIZE = 2_048
"""The characters of a trust policy, unless the account's quota was raised."""


def policy_size(policy: Policy) -> int:
    return len(json.dumps(policy.as_json(), separators=(",", ":")))
