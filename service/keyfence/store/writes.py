"""Writes as values, optimistic locking and its retry, `ActivityNote`."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, TypeVar

from keyfence.errors import Conflict, KeyfenceError, Throttled
from keyfence.store.codec import Item, attribute_name
from keyfence.store.dynamodb.errors import RETRY_AFTER_MS
from keyfence.store.entity import Entity, M, Model
from keyfence.store.expressions import Condition, Path, Placeholders, UpdateExpression, equals, present
from keyfence.store.keys import Fence
from keyfence.store.shards import ShardMap


class StaleWrite(Conflict):
    """Somebody else was faster; a fresh read tells what is to be done now."""

    def __init__(self) -> None:
        super().__init__("somebody else changed this at the same time; read it again and retry")


ErrorFactory = Callable[[], KeyfenceError]


@dataclass(frozen=True, slots=True, kw_only=True)
class Write(Generic[M]):
    """One item's part in a transaction; `otherwise` is raised when its condition does not hold."""

    action: str
    entity: Entity[M]
    model: M | None = None
    key: Mapping[str, object] = field(default_factory=dict)
    change: UpdateExpression | None = None
    states: tuple[M, M] | None = None
    when: Condition | None = None
    on_failure: ErrorFactory = StaleWrite

    def render(self, table: str, fence: Fence, shards: ShardMap) -> dict[str, Any]:
        """The member of TransactItems that this write becomes."""
        placeholders = Placeholders()
        body: dict[str, Any] = {"TableName": table, **self._subject(fence, shards)}
        change = self._change(fence, shards)
        if change:
            body["UpdateExpression"] = change.render(placeholders)
        if self.when is not None:
            body["ConditionExpression"] = self.when.render(placeholders)
        verb = "ConditionCheck" if self.action == "Update" and not change else self.action
        return {verb: body | placeholders.parameters()}

    def _subject(self, fence: Fence, shards: ShardMap) -> dict[str, Item]:
        if self.model is not None:
            return {"Item": self.entity.to_item(self.model, fence, shards)}
        return {"Key": table_key(self.entity, fence, shards, self.key)}

    def _change(self, fence: Fence, shards: ShardMap) -> UpdateExpression | None:
        if self.states is None:
            return self.change
        before, after = (self.entity.key_attributes(model, fence, shards) for model in self.states)
        moved = UpdateExpression(
            sets={(name,): value["S"] for name, value in after.items() if before.get(name) != value},
            removes=tuple((name,) for name in before if name not in after),
        )
        return (self.change or UpdateExpression()) | moved


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
    """A change of plain attributes of an item that must exist; none of them may be part of an index key.

    Where there is nothing to change, what is left of it is the condition."""
    _refuse_key_fields(entity, change)
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
    """Add to a number of an item, which is made from `model` where it is not there yet."""
    if set(entity.keys) != {"table"}:
        raise TypeError(f"{entity.type} stands in an index, whose keys a tally would not keep")
    constant = [one.name for one in fields(model) if one.name not in {field, "version"}]
    given: dict[Path, object] = {
        (attribute_name(name),): getattr(model, name) for name in constant if getattr(model, name) is not None
    }
    adds: dict[Path, int] = {(attribute_name(field),): by, ("version",): 1}
    made = UpdateExpression(defaults={**given, ("type",): entity.type}, adds=adds)
    return Write(
        action="Update", entity=entity, key=_key_of(entity, model), change=made, when=when, on_failure=on_failure
    )


def update_model(
    entity: Entity[M],
    before: M,
    after: M,
    *,
    when: Condition | None = None,
    on_failure: ErrorFactory = StaleWrite,
) -> Write[M]:
    """What differs between two states of one item, its index keys included, if nobody revised it in between.

    Where nothing differs, what is left of it is the condition."""
    if _key_of(entity, before) != _key_of(entity, after):
        raise TypeError(f"a {entity.type} cannot be revised into another one")
    condition = equals("version", before.version)
    return Write(
        action="Update",
        entity=entity,
        key=_key_of(entity, before),
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


def _key_of(entity: Entity[M], model: M) -> dict[str, object]:
    return {name: getattr(model, name) for name in entity.keys["table"].fields}


def _difference(before: Model, after: Model) -> UpdateExpression:
    sets: dict[Path, object] = {}
    removes: list[Path] = []
    for one in fields(before):
        old, new = getattr(before, one.name), getattr(after, one.name)
        if old == new:
            continue
        if new is None or new == frozenset():
            removes.append((attribute_name(one.name),))
        else:
            sets[attribute_name(one.name),] = new
    return UpdateExpression(sets=sets, removes=tuple(removes))


def _refuse_key_fields(entity: Entity[Any], change: UpdateExpression) -> None:
    keyed = {attribute_name(name) for key in entity.keys.values() for name in key.fields}
    touched = {path[0] for path in (*change.sets, *change.defaults, *change.removes, *change.adds)}
    if wrong := sorted(keyed & touched):
        raise TypeError(f"{', '.join(wrong)} of {entity.type} is part of a key: use revise, which moves the keys too")


@dataclass(frozen=True, slots=True)
class ActivityNote:
    """What was done, as `noun.verb`, to which thing, with the values that changed."""

    kind: str
    target: str | None = None
    detail: Mapping[str, object] = field(default_factory=dict)


ActivityLog = Callable[[ActivityNote], Write[Any]]
"""Turns a note into the write that keeps it, in the name of whoever acts."""


def changed_fields(before: Model, after: Model, *shown: str) -> dict[str, object]:
    """Of these fields, what each was and is now, where that differs; no other field ever leaves the item."""
    known = {one.name for one in fields(after)}
    changed = [name for name in shown if name in known and getattr(before, name) != getattr(after, name)]
    return {
        moment: {attribute_name(name): getattr(model, name) for name in changed}
        for moment, model in (("before", before), ("after", after))
        if changed
    }


T = TypeVar("T")
ATTEMPTS = 10
FIRST_PAUSE = 0.005
LONGEST_PAUSE = 0.5


def backoff(tries: int) -> float:
    """Seconds, left to chance up to a ceiling that doubles with every try."""
    return random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**tries))  # noqa: S311


async def retry_if_stale(attempt: Callable[[], Awaitable[T]], expected_version: int | None = None) -> T:
    """A caller who named a version hears of the conflict at once; for the others a fresh read decides."""
    if expected_version is not None:
        return await attempt()
    for tries in range(ATTEMPTS):
        try:
            return await attempt()
        except StaleWrite:
            await asyncio.sleep(backoff(tries))
    raise Throttled("others are changing the same thing just now; retry shortly", retryAfterMs=RETRY_AFTER_MS)
