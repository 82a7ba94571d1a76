"""Transactions on moto that cost what they touch: moto itself copies the whole table for each of their writes."""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table

Undo = Callable[[], None]

_moto = DynamoDBBackend.transact_write_items


def install() -> None:
    """Have failed transactions undone by us; the copies that moto would take to go back to become the table itself."""
    setattr(DynamoDBBackend, "transact_write_items", _transact)  # noqa: B010
    setattr(Table, "__deepcopy__", lambda table, _memo: table)  # noqa: B010


def _transact(backend: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> None:
    undo = list(_undo(backend, transact_items))
    try:
        _moto(backend, transact_items)
    except BaseException:
        for step in undo:
            step()
        raise


def _undo(backend: DynamoDBBackend, writes: Sequence[dict[str, Any]]) -> Iterator[Undo]:
    for body in (body for write in writes for body in write.values()):
        if (table := backend.tables.get(body.get("TableName"))) is not None:
            yield _item_restored(table, body.get("Key") or body["Item"])
            yield _stream_restored(table)


def _item_restored(table: Table, key: dict[str, Any]) -> Undo:
    names = [name for name in (table.hash_key_attr, table.range_key_attr) if name]
    *path, last = (DynamoType(key[name]) for name in names)
    rows: Any = table.items[path[0]] if path else table.items
    kept = copy.deepcopy(rows.get(last))

    def restore() -> None:
        rows.pop(last, None)
        if kept is not None:
            rows[last] = kept

    return restore


def _stream_restored(table: Table) -> Undo:
    shard = table.stream_shard
    length = len(shard.items) if shard else 0

    def restore() -> None:
        if shard:
            del shard.items[length:]

    return restore
