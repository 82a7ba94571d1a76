"""A transaction on two tables: beside each of its writes the same one on the other table."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyfence.store.codec import Item
from keyfence.store.dynamodb.errors import REASONS, Refused

Member = Mapping[str, Mapping[str, Any]]

FINE = "None"
BEHIND = frozenset({"ConditionalCheckFailed", "ValidationError"})
"""What the twin of an update is cancelled for where the other table lacks the item, or has an older one."""


@dataclass(frozen=True, slots=True)
class Twins:
    """`twins` are those that go to the other table, by the place of the member that they are twins of."""

    members: Sequence[Member]
    twins: Mapping[int, Member]

    @classmethod
    def of(cls, members: Sequence[Member], table: str, made: Collection[int] = ()) -> "Twins":
        """Updates are for items that the other table has, but for those at the places in `made`: they make them."""
        both = {at: _twin(member, table, makes=at in made) for at, member in enumerate(members)}
        return cls(members, {at: twin for at, twin in both.items() if twin})

    def all(self) -> list[Member]:
        return [*self.members, *self.twins.values()]

    def behind(self, refusal: Refused) -> dict[int, Item]:
        """The keys of the items, by place, that the other table has to be given before this can be tried again.

        Where a member is itself at fault there are none: it would be again."""
        keys: dict[int, Item] = {at: twin["Update"]["Key"] for at, twin in self.twins.items() if "Update" in twin}
        if refusal.code == "ValidationException":
            return keys
        own, others = self._reasons(refusal)
        if any(not _passing(reason) for reason in own):
            return {}
        return {at: key for at, key in keys.items() if others.get(at) in BEHIND}

    def told(self, refusal: Refused) -> Refused:
        """As if there were no twins: a member is busy if its twin is."""
        if not refusal.reasons:
            return refusal
        own, others = self._reasons(refusal)
        reasons = tuple(
            others[at] if reason == FINE and _passing(others.get(at, "")) else reason for at, reason in enumerate(own)
        )
        return Refused(refusal.code, str(refusal), reasons, refusal.consumed)

    def _reasons(self, refusal: Refused) -> tuple[tuple[str, ...], dict[int, str]]:
        own, others = refusal.reasons[: len(self.members)], refusal.reasons[len(self.members) :]
        return own, dict(zip(self.twins, others, strict=False))


def _passing(reason: str) -> bool:
    return reason == FINE or (reason in REASONS and REASONS[reason].retry)


def _twin(member: Member, table: str, *, makes: bool) -> Member | None:
    ((verb, body),) = member.items()
    if verb == "ConditionCheck":
        return None
    if verb == "Update":
        return {verb: {"TableName": table, **(_plain(body) if makes else _if_there(body))}}
    subject = "Item" if verb == "Put" else "Key"
    return {verb: {"TableName": table, subject: body[subject]}}


def _plain(body: Mapping[str, Any]) -> dict[str, Any]:
    """Without its condition, and so without what only that names: DynamoDB refuses what no expression uses."""
    used = set(re.findall(r"[#:]\w+", body["UpdateExpression"]))
    maps = {
        name: {key: value for key, value in body.get(name, {}).items() if key in used}
        for name in ("ExpressionAttributeNames", "ExpressionAttributeValues")
    }
    update = {"Key": body["Key"], "UpdateExpression": body["UpdateExpression"]}
    return update | {name: placed for name, placed in maps.items() if placed}


def _if_there(body: Mapping[str, Any]) -> dict[str, Any]:
    plain = _plain(body)
    names = {**plain.get("ExpressionAttributeNames", {}), "#there": "PK"}
    return {**plain, "ConditionExpression": "attribute_exists(#there)", "ExpressionAttributeNames": names}
