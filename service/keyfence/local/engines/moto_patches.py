"""Patches for moto: a failed transaction is rolled back, and a repeated request token writes nothing."""

import copy
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from moto.core.responses import ActionResult
from moto.dynamodb.exceptions import ERROR_TYPE_PREFIX, DynamodbException
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler

REMEMBERED_SECONDS = 600.0

_moto_handler = DynamoHandler.transact_write_items


@dataclass(slots=True)
class Tokens:
    """The transactions of the last ten minutes: the time and a digest of each, by request token."""

    done: dict[str, tuple[float, bytes]] = field(default_factory=dict)

    def find(self, token: str, now: float) -> bytes | None:
        for old in [known for known, (at, _) in self.done.items() if at < now - REMEMBERED_SECONDS]:
            del self.done[old]
        return self.done[token][1] if token in self.done else None


_tokens = Tokens()


def install_request_tokens() -> None:
    setattr(DynamoHandler, "transact_write_items", _transact_with_token)  # noqa: B010


def _transact_with_token(handler: DynamoHandler) -> ActionResult:
    token = handler.body.get("ClientRequestToken")
    return _moto_handler(handler) if token is None else _once(handler, token)


def _once(handler: DynamoHandler, token: str) -> ActionResult:
    """Runs a transaction once. A failed one is not remembered, so it may be tried again with its token."""
    digest = _digest(handler.body["TransactItems"])
    known = _tokens.find(token, time.monotonic())
    if known is None:
        answer = _moto_handler(handler)
        _tokens.done[token] = (time.monotonic(), digest)
        return answer
    if known != digest:
        raise DynamodbException(
            f"{ERROR_TYPE_PREFIX}IdempotentParameterMismatchException",
            "The request uses the same client token as a previous, but non-identical request.",
        )
    return ActionResult({"ConsumedCapacity": [], "ItemCollectionMetrics": {}})


def _digest(writes: list[dict[str, Any]]) -> bytes:
    return sha256(json.dumps(writes, sort_keys=True, default=repr).encode()).digest()


Undo = Callable[[], None]

_moto_backend = DynamoDBBackend.transact_write_items


def install_rollback() -> None:
    """Undoes the writes of a failed transaction. moto would copy whole tables for that; here its copies are free."""
    setattr(DynamoDBBackend, "transact_write_items", _transact_with_rollback)  # noqa: B010
    setattr(Table, "__deepcopy__", lambda table, _memo: table)  # noqa: B010


def _transact_with_rollback(backend: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> None:
    undo = list(_undo(backend, transact_items))
    try:
        _moto_backend(backend, transact_items)
    except BaseException:
        for restore in undo:
            restore()
        raise


def _undo(backend: DynamoDBBackend, writes: Sequence[dict[str, Any]]) -> Iterator[Undo]:
    for body in (body for write in writes for body in write.values()):
        if (table := backend.tables.get(body.get("TableName"))) is not None:
            yield _restore_item(table, body.get("Key") or body["Item"])
            yield _restore_stream(table)


def _restore_item(table: Table, key: dict[str, Any]) -> Undo:
    names = [name for name in (table.hash_key_attr, table.range_key_attr) if name]
    *path, last = (DynamoType(key[name]) for name in names)
    rows: Any = table.items[path[0]] if path else table.items
    before = copy.deepcopy(rows.get(last))

    def restore() -> None:
        rows.pop(last, None)
        if before is not None:
            rows[last] = before

    return restore


def _restore_stream(table: Table) -> Undo:
    shard = table.stream_shard
    length = len(shard.items) if shard else 0

    def restore() -> None:
        if shard:
            del shard.items[length:]

    return restore
