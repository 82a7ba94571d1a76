"""Writes as values, with their conditions; optimistic locking and its retry; notes for the activity log."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, Literal, TypeVar

from keyfence.errors import Conflict, KeyfenceError, Throttled
from keyfence.store.codec import Item, attribute_name
from keyfence.store.dynamodb.error_codes import RETRY_AFTER_MS
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.store.entity import Entity, M, Model
from keyfence.store.expressions import Condition, Path, Placeholders, UpdateExpression, equals, present
from keyfence.store.keys import Fence
from keyfence.store.shards import ShardMap

STALE_WRITE_RETRIES = RetryPolicy(attempts=10, first_pause_seconds=0.005, max_pause_seconds=0.5)

T = TypeVar("T")


class StaleWrite(Conflict):
    """An item was changed after it was read. Read it again and decide anew."""

    def __init__(self) -> None:
        super().__init__("this was changed by somebody else at the same time; read it again and retry")


ErrorFactory = Callable[[], KeyfenceError]


@dataclass(frozen=True, slots=True, kw_only=True)
class Write(Generic[M]):
    """One action of a transaction. `on_failure` makes the error to raise if the condition `when` does not hold."""

    action: Literal["Put", "Update", "Delete", "ConditionCheck"]
    entity: Entity[M]
    model: M | None = None
    """The item of a Put. All other actions have `key`."""
    key: Mapping[str, object] = field(default_factory=dict)
    change: UpdateExpression | None = None
    states: tuple[M, M] | None = None
    """The model before and after an update that may change index keys."""
    when: Condition | None = None
    on_failure: ErrorFactory = StaleWrite

    def render(self, table: str, fence: Fence, shards: ShardMap) -> dict[str, Any]:
        """Returns the element of TransactItems for this write. An update without changes becomes a ConditionCheck."""
        placeholders = Placeholders()
        body: dict[str, Any] = {"TableName": table, **self._item_or_key(fence, shards)}
        change = self._change(fence, shards)
        if change:
            body["UpdateExpression"] = change.render(placeholders)
        if self.when is not None:
            body["ConditionExpression"] = self.when.render(placeholders)
        action = "ConditionCheck" if self.action == "Update" and not change else self.action
        return {action: body | placeholders.parameters()}

    def _item_or_key(self, fence: Fence, shards: ShardMap) -> dict[str, Item]:
        if self.model is not None:
            return {"Item": self.entity.to_item(self.model, fence, shards)}
        return {"Key": table_key(self.entity, fence, shards, self.key)}

    def _change(self, fence: Fence, shards: ShardMap) -> UpdateExpression | None:
        if self.states is None:
            return self.change
        before, after = (self.entity.key_attributes(model, fence, shards) for model in self.states)
        changed_keys = UpdateExpression(
            sets={(name,): value["S"] for name, value in after.items() if before.get(name) != value},
            removes=tuple((name,) for name in before if name not in after),
        )
        return (self.change or UpdateExpression()) | changed_keys


def put(
    entity: Entity[M], model: M, *, when: Condition | None = None, on_failure: ErrorFactory = StaleWrite
) -> Write[M]:
    return Write(action="Put", entity=entity, model=model, when=when, on_failure=on_failure)


def update_attributes(
    entity: Entity[M],
    key: Mapping[str, object],
    change: UpdateExpression,
    *,
    when: Condition | None = None,
    on_failure: ErrorFactory = StaleWrite,
) -> Write[M]:
    """Changes attributes of an item that must exist. Raises TypeError if one of them is part of a key: `update_model`
    changes the keys too. Without changes, only the condition is checked."""
    _reject_key_fields(entity, change)
    condition = present() & when if when else present()
    return Write(action="Update", entity=entity, key=key, change=change, when=condition, on_failure=on_failure)


def increment(
    entity: Entity[M],
    model: M,
    field: str,
    by: int,
    *,
    when: Condition | None = None,
    on_failure: ErrorFactory = StaleWrite,
) -> Write[M]:
    """Adds to a number of an item. If the item does not exist, it is created from `model`."""
    if set(entity.keys) != {"table"}:
        raise TypeError(f"{entity.type} is in an index; increment cannot set index keys")
    constant = [each.name for each in fields(model) if each.name not in {field, "version"}]
    defaults: dict[Path, object] = {
        (attribute_name(name),): getattr(model, name) for name in constant if getattr(model, name) is not None
    }
    adds: dict[Path, int] = {(attribute_name(field),): by, ("version",): 1}
    change = UpdateExpression(defaults={**defaults, ("type",): entity.type}, adds=adds)
    key = _key_values(entity, model)
    return Write(action="Update", entity=entity, key=key, change=change, when=when, on_failure=on_failure)


def update_model(
    entity: Entity[M],
    before: M,
    after: M,
    *,
    when: Condition | None = None,
    on_failure: ErrorFactory = StaleWrite,
) -> Write[M]:
    """Changes an item from one state to another, with its index keys, if its version is still that of `before`.

    If the states are equal, only the condition is checked."""
    key = _key_values(entity, before)
    if key != _key_values(entity, after):
        raise TypeError(f"an update cannot change the table key of a {entity.type}")
    condition = equals("version", before.version)
    return Write(
        action="Update",
        entity=entity,
        key=key,
        change=_difference(before, after),
        states=(before, after),
        when=condition & when if when else condition,
        on_failure=on_failure,
    )


def delete(
    entity: Entity[M],
    key: Mapping[str, object],
    *,
    when: Condition | None = None,
    on_failure: ErrorFactory = StaleWrite,
) -> Write[M]:
    return Write(action="Delete", entity=entity, key=key, when=when, on_failure=on_failure)


def check(entity: Entity[M], key: Mapping[str, object], *, when: Condition, on_failure: ErrorFactory) -> Write[M]:
    return Write(action="ConditionCheck", entity=entity, key=key, when=when, on_failure=on_failure)


def table_key(entity: Entity[Any], fence: Fence, shards: ShardMap, values: Mapping[str, object]) -> Item:
    pair = entity.keys["table"].render(fence, shards, values)
    return {"PK": {"S": pair.partition}, "SK": {"S": pair.sort}}


def require_version(model: Model, expected: int | None, noun: str) -> None:
    """Raises Conflict if the client expected another version. None accepts any version."""
    if expected is not None and model.version != expected:
        raise Conflict(f"the {noun} is at version {model.version}, not {expected}", version=model.version)


async def retry_if_stale(attempt: Callable[[], Awaitable[T]]) -> T:
    """Repeats an attempt that raises StaleWrite, so that it reads again and decides anew. Raises Throttled if all
    attempts fail.

    An attempt with an expected version is repeated too: another item of its transaction may have changed. If its own
    item has changed, `require_version` finds that out when the attempt reads again."""
    for number in range(STALE_WRITE_RETRIES.attempts):
        try:
            return await attempt()
        except StaleWrite:
            await asyncio.sleep(STALE_WRITE_RETRIES.backoff_seconds(number))
    raise Throttled("others keep changing the same item; retry shortly", retryAfterMs=RETRY_AFTER_MS)


@dataclass(frozen=True, slots=True)
class ActivityNote:
    """An entry for the activity log: what was done (`noun.verb`), to which object, and the values that changed."""

    kind: str
    target: str | None = None
    detail: Mapping[str, object] = field(default_factory=dict)


ActivityLog = Callable[[ActivityNote], Write[Any]]
"""Returns the write that logs a note in the name of the current user."""


def changed_fields(before: Model, after: Model, *names: str) -> dict[str, object]:
    """Returns the values before and after for those of the named fields that differ, as the `detail` of a note."""
    known = {each.name for each in fields(after)}
    changed = [name for name in names if name in known and getattr(before, name) != getattr(after, name)]
    return {
        moment: {attribute_name(name): getattr(model, name) for name in changed}
        for moment, model in (("before", before), ("after", after))
        if changed
    }


def _key_values(entity: Entity[M], model: M) -> dict[str, object]:
    return {name: getattr(model, name) for name in entity.keys["table"].fields}


def _difference(before: Model, after: Model) -> UpdateExpression:
    sets: dict[Path, object] = {}
    removes: list[Path] = []
    for each in fields(before):
        old, new = getattr(before, each.name), getattr(after, each.name)
        if old == new:
            continue
        if new is None or new == frozenset():
            removes.append((attribute_name(each.name),))
        else:
            sets[attribute_name(each.name),] = new
    return UpdateExpression(sets=sets, removes=tuple(removes))


def _reject_key_fields(entity: Entity[Any], change: UpdateExpression) -> None:
    key_attributes = {attribute_name(name) for key in entity.keys.values() for name in key.fields}
    changed = {path[0] for path in (*change.sets, *change.defaults, *change.removes, *change.adds)}
    if wrong := sorted(key_attributes & changed):
        raise TypeError(f"{', '.join(wrong)} of {entity.type} is part of a key; use update_model")
