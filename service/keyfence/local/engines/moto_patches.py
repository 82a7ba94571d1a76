"""Patches for moto: a failed transaction is rolled back, and a repeated ClientRequestToken writes nothing."""

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
"""How long a ClientRequestToken is remembered. DynamoDB remembers it for ten minutes too."""

_moto_transact_handler = DynamoHandler.transact_write_items


@dataclass(slots=True)
class RememberedTransactions:
    """The completion time and a digest of each recent transaction, by its request token."""

    by_token: dict[str, tuple[float, bytes]] = field(default_factory=dict)

    def find_digest(self, token: str, now: float) -> bytes | None:
        """Forgets old transactions. Returns the digest of the transaction with this token, or None."""
        oldest = now - REMEMBERED_SECONDS
        self.by_token = {key: entry for key, entry in self.by_token.items() if entry[0] >= oldest}
        return self.by_token[token][1] if token in self.by_token else None


_transactions = RememberedTransactions()


def install_request_tokens() -> None:
    """Makes a transaction with a repeated ClientRequestToken write nothing, as in DynamoDB."""
    setattr(DynamoHandler, "transact_write_items", _transact_with_token)  # noqa: B010


def _transact_with_token(handler: DynamoHandler) -> ActionResult:
    token = handler.body.get("ClientRequestToken")
    return _moto_transact_handler(handler) if token is None else _run_once(handler, token)


def _run_once(handler: DynamoHandler, token: str) -> ActionResult:
    """Runs a transaction once. A failed transaction is not remembered, so it can be tried again with its token."""
    digest = _digest(handler.body["TransactItems"])
    remembered_digest = _transactions.find_digest(token, time.monotonic())
    if remembered_digest is None:
        answer = _moto_transact_handler(handler)
        _transactions.by_token[token] = (time.monotonic(), digest)
        return answer
    if remembered_digest != digest:
        raise DynamodbException(
            f"{ERROR_TYPE_PREFIX}IdempotentParameterMismatchException",
            "The request uses the same client token as a previous, but non-identical request.",
        )
    return ActionResult({"ConsumedCapacity": [], "ItemCollectionMetrics": {}})


def _digest(writes: list[dict[str, Any]]) -> bytes:
    return sha256(json.dumps(writes, sort_keys=True, default=repr).encode()).digest()


Undo = Callable[[], None]

_moto_transact = DynamoDBBackend.transact_write_items


def install_rollback() -> None:
    """Makes a failed transaction undo only the items that it wrote.

    moto itself undoes a transaction by a deep copy of each whole table, which is slow. After this call, a deep copy of
    a table returns the same table, so moto copies nothing.
    """
    setattr(DynamoDBBackend, "transact_write_items", _transact_with_rollback)  # noqa: B010
    setattr(Table, "__deepcopy__", lambda table, _memo: table)  # noqa: B010


def _transact_with_rollback(backend: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> None:
    undo_functions = list(_undo_functions(backend, transact_items))
    try:
        _moto_transact(backend, transact_items)
    except BaseException:
        for undo in undo_functions:
            undo()
        raise


def _undo_functions(backend: DynamoDBBackend, writes: Sequence[dict[str, Any]]) -> Iterator[Undo]:
    """Yields functions that restore the item and the stream of each write to their present state."""
    for body in (body for write in writes for body in write.values()):
        if (table := backend.tables.get(body.get("TableName"))) is not None:
            yield _undo_for_item(table, body.get("Key") or body["Item"])
            yield _undo_for_stream(table)


def _undo_for_item(table: Table, key: dict[str, Any]) -> Undo:
    names = [name for name in (table.hash_key_attr, table.range_key_attr) if name]
    *partition_key, last_key = (DynamoType(key[name]) for name in names)
    items: Any = table.items[partition_key[0]] if partition_key else table.items
    item_before = copy.deepcopy(items.get(last_key))

    def restore() -> None:
        items.pop(last_key, None)
        if item_before is not None:
            items[last_key] = item_before

    return restore


def _undo_for_stream(table: Table) -> Undo:
    shard = table.stream_shard
    length_before = len(shard.items) if shard else 0

    def restore() -> None:
        if shard:
            del shard.items[length_before:]

    return restore
