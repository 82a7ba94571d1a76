"""Writes of a transaction as values; optimistic locking with retries; notes for the activity log."""

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
"""Pauses begin shorter than those of throttled calls: the other writer is usually done within milliseconds."""

T = TypeVar("T")


class StaleWrite(Conflict):
    """Another writer changed an item after it was read. `retry_if_stale` repeats the change."""

    def __init__(self) -> None:
        super().__init__("this was changed by somebody else at the same time; read it again and retry")


ErrorFactory = Callable[[], KeyfenceError]
"""A function that returns the error to raise if the condition of a write fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write(Generic[M]):
    """One action of a transaction."""

    action: Literal["Put", "Update", "Delete", "ConditionCheck"]
    entity: Entity[M]
    model: M | None = None
    """The model that a Put stores. The other actions have `key` instead."""
    key: Mapping[str, object] = field(default_factory=dict)
    """The values of the fields in the table key."""
    change: UpdateExpression | None = None
    states: tuple[M, M] | None = None
    """The model before and after an update. From these, `render` finds the index keys that change."""
    when: Condition | None = None
    """The condition of the write. If it does not hold, the write fails with the error of `on_failure`."""
    on_failure: ErrorFactory = StaleWrite

    def render(self, table: str, fence: Fence, shards: ShardMap) -> dict[str, Any]:
        """Returns this write as an element of TransactItems. An update without changes becomes a ConditionCheck."""
        placeholders = Placeholders()
        body: dict[str, Any] = {"TableName": table, **self._item_or_key(fence, shards)}
        change = self._change_with_index_keys(fence, shards)
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

    def _change_with_index_keys(self, fence: Fence, shards: ShardMap) -> UpdateExpression | None:
        if self.states is None:
            return self.change
        before, after = (self.entity.key_attributes(model, fence, shards) for model in self.states)
        index_keys = UpdateExpression(
            sets={(name,): value["S"] for name, value in after.items() if before.get(name) != value},
            removes=tuple((name,) for name in before if name not in after),
        )
        return (self.change or UpdateExpression()) | index_keys


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
    """Returns a write that changes attributes of an item that must exist. With an empty `change`, the write only checks
    the condition.

    Raises TypeError for an attribute that is part of a key: only `update_model` changes the keys too."""
    _reject_key_fields(entity, change)
    condition = present() & when if when else present()
    return Write(action="Update", entity=entity, key=key, change=change, when=condition, on_failure=on_failure)


def increment(
    entity: Entity[M],
    model: M,
    field: str,
    amount: int,
    *,
    when: Condition | None = None,
    on_failure: ErrorFactory = StaleWrite,
) -> Write[M]:
    """Returns a write that adds an amount to a number of an item. If the item does not exist, the write creates it with
    the other fields of `model`.

    Raises TypeError for an entity that is in an index."""
    if set(entity.keys) != {"table"}:
        raise TypeError(f"{entity.type} is in an index; increment cannot set index keys")
    other_fields = [model_field.name for model_field in fields(model) if model_field.name not in {field, "version"}]
    defaults: dict[Path, object] = {
        (attribute_name(name),): getattr(model, name) for name in other_fields if getattr(model, name) is not None
    }
    adds: dict[Path, int] = {(attribute_name(field),): amount, ("version",): 1}
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
    """Returns a write that changes an item and its index keys from the state `before` to the state `after`. The write
    requires that the item still has the version of `before`.

    If the states are equal, the write only checks the version. Raises TypeError if the states have different table
    keys."""
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
    """Raises Conflict if the model does not have the version that the client expects. None accepts any version."""
    if expected is not None and model.version != expected:
        raise Conflict(f"the {noun} is at version {model.version}, not {expected}", version=model.version)


async def retry_if_stale(attempt: Callable[[], Awaitable[T]]) -> T:
    """Repeats an attempt that raises StaleWrite. Each attempt must read its items again.

    Raises Throttled if all attempts fail.

    A change with an expected version is repeated too, because another item of its transaction may be the stale one. If
    its own item has a newer version, `require_version` raises Conflict in the next attempt."""
    for attempt_number in range(STALE_WRITE_RETRIES.attempts):
        try:
            return await attempt()
        except StaleWrite:
            if not STALE_WRITE_RETRIES.is_last(attempt_number):
                await asyncio.sleep(STALE_WRITE_RETRIES.backoff_seconds(attempt_number))
    raise Throttled("other requests keep changing the same item; retry shortly", retryAfterMs=RETRY_AFTER_MS)


@dataclass(frozen=True, slots=True)
class ActivityNote:
    """Describes one change by a user, for the activity log."""

    kind: str
    """A noun and a verb, such as `member.added`."""
    target: str | None = None
    """The id of the object that was changed."""
    detail: Mapping[str, object] = field(default_factory=dict)
    """The values that changed."""


ActivityLog = Callable[[ActivityNote], Write[Any]]
"""A function that returns the write that adds a note of the current user to the activity log."""


def changed_fields(before: Model, after: Model, *names: str) -> dict[str, object]:
    """Returns the `detail` of a note: under `before` and `after`, the values of the named fields that differ. Returns
    an empty dict if no field differs."""
    model_fields = {model_field.name for model_field in fields(after)}
    changed = [name for name in names if name in model_fields and getattr(before, name) != getattr(after, name)]
    if not changed:
        return {}
    return {
        state: {attribute_name(name): getattr(model, name) for name in changed}
        for state, model in (("before", before), ("after", after))
    }


def _key_values(entity: Entity[M], model: M) -> dict[str, object]:
    return {name: getattr(model, name) for name in entity.keys["table"].fields}


def _difference(before: Model, after: Model) -> UpdateExpression:
    """Returns the update that changes the attributes of one model to those of another. None and empty sets are removed,
    because they are stored as no attribute."""
    sets: dict[Path, object] = {}
    removes: list[Path] = []
    for model_field in fields(before):
        old, new = getattr(before, model_field.name), getattr(after, model_field.name)
        if old == new:
            continue
        if new is None or new == frozenset():
            removes.append((attribute_name(model_field.name),))
        else:
            sets[attribute_name(model_field.name),] = new
    return UpdateExpression(sets=sets, removes=tuple(removes))


def _reject_key_fields(entity: Entity[Any], change: UpdateExpression) -> None:
    key_attributes = {attribute_name(name) for key in entity.keys.values() for name in key.fields}
    changed = {path[0] for path in (*change.sets, *change.defaults, *change.removes, *change.adds)}
    if rejected := sorted(key_attributes & changed):
        raise TypeError(f"{', '.join(rejected)} of {entity.type} is part of a key; use update_model")
