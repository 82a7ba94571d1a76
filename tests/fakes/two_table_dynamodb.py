"""DynamoDB with two tables, in memory, and table handles in each phase of a move."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfence.store.codec import Item
from keyfence.store.cursor import CursorCodec
from keyfence.store.dual_write.dual_write_caller import OnDifference, ignore_difference
from keyfence.store.dual_write.item_sync import ItemSync, SyncOutcome
from keyfence.store.dual_write.read_comparison import parameters_for_table
from keyfence.store.dynamodb.caller import CredentialSource
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.keys import KeyPair
from keyfence.store.table import Table
from keyfence.store.table_handles import Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence_iam.credentials import Credentials
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.expressions import BadExpression, apply_update, meets_condition, placeholders
from tests.fakes.fences import INDEX_TAGS
from tests.fakes.scripted_dynamodb import CREDENTIALS, CURSOR_KEY, TABLE_NAME, Call

ACME = TenantId("acme")
SILO = f"{TABLE_NAME}-silo-{ACME}"
Items = dict[KeyPair, Item]


@dataclass
class TwoTableDynamoDB:
    """A transaction can write to both tables."""

    tables: dict[str, Items] = field(default_factory=lambda: {TABLE_NAME: {}, SILO: {}})
    calls: list[Call] = field(default_factory=list)
    failing_tables: dict[str, DynamoDbError] = field(default_factory=dict)
    """The error that every call of a table raises, by the name of the table."""
    before_calls: list[Callable[[], object] | None] = field(default_factory=list)
    """Functions that run before the next calls, one for each call."""

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        await asyncio.sleep(0)
        self.calls.append(Call(operation, parameters))
        if self.before_calls and (action := self.before_calls.pop(0)):
            action()
        for table in _tables(operation, parameters):
            if table in self.failing_tables:
                raise self.failing_tables[table]
        if operation == "TransactWriteItems":
            return self._transact(parameters["TransactItems"])
        (table,) = _tables(operation, parameters)
        answer = await InMemoryDynamoDB(self.tables[table]).call(
            operation, parameters_for_table(TABLE_NAME, parameters), credentials
        )
        if "Responses" in answer:
            return {"Responses": {table: answer["Responses"][TABLE_NAME]}}
        return answer

    def close(self) -> None: ...

    def _transact(self, members: list[Any]) -> Answer:
        pairs = [(verb, body) for member in members for verb, body in member.items()]
        keys = [(body["TableName"], address(body.get("Key") or body["Item"])) for _, body in pairs]
        assert len(set(keys)) == len(keys) <= 100
        results = [self._result(verb, body, *key) for (verb, body), key in zip(pairs, keys, strict=True)]
        if any(isinstance(result, str) for result in results):
            reasons = tuple(result if isinstance(result, str) else "None" for result in results)
            raise DynamoDbError("TransactionCanceledException", "", reasons)
        for (table, key), item in zip(keys, results, strict=True):
            self.tables[table].pop(key, None)
            if isinstance(item, dict):
                self.tables[table][key] = item
        return {}

    def _result(self, verb: str, body: Mapping[str, Any], table: str, key: KeyPair) -> Item | str | None:
        """Returns the item after the write, None for a deleted item, or the reason why the transaction is cancelled."""
        used, defined = placeholders(body)
        assert used == defined
        item = self.tables[table].get(key)
        if not meets_condition(body, item or {}):
            return "ConditionalCheckFailed"
        try:
            after = apply_update(body, item or dict(body["Key"])) if verb == "Update" else item
        except BadExpression:
            return "ValidationError"
        result: Item | None = {"Put": body.get("Item"), "Delete": None}.get(verb, after)
        return result


def address(item: Item) -> KeyPair:
    return KeyPair(item["PK"]["S"], item["SK"]["S"])


def _tables(operation: str, parameters: Mapping[str, Any]) -> list[str]:
    if operation == "TransactWriteItems":
        return [body["TableName"] for member in parameters["TransactItems"] for body in member.values()]
    return list(parameters["RequestItems"]) if "RequestItems" in parameters else [parameters["TableName"]]


class InMemoryTables:
    """Returns credentials to every caller, and records in `asked` for which tables."""

    def __init__(self) -> None:
        self.asked: list[TableAccess] = []

    def for_tenant(self, tenant: TenantId, *, may_write: bool, table_access: TableAccess) -> CredentialSource:
        self.asked.append(table_access)
        return self._credentials

    def for_control_plane(self, *, may_write: bool) -> CredentialSource:
        return self._credentials

    async def _credentials(self) -> Credentials:
        return CREDENTIALS


POOLED = TenantLocation(tenant=ACME)
DUAL = TenantLocation(tenant=ACME, also_write_to=TableAccess.SILO)
SHADOW = TenantLocation(tenant=ACME, also_write_to=TableAccess.SILO, compare_reads=True)
SWITCHED = TenantLocation(tenant=ACME, read_from=TableAccess.SILO, also_write_to=TableAccess.POOL)
SILOED = TenantLocation(tenant=ACME, read_from=TableAccess.SILO)


def handle(
    dynamodb: TwoTableDynamoDB,
    location: TenantLocation,
    on_difference: OnDifference = ignore_difference,
    *,
    may_write: bool = True,
) -> Table:
    tables = Tables(
        client=dynamodb,
        name=TABLE_NAME,
        cursors=CursorCodec([CURSOR_KEY]),
        index_tags=INDEX_TAGS,
        credentials=InMemoryTables(),
        on_difference=on_difference,
    )
    return tables.for_tenant(location, may_write=may_write)


async def copy_all_items(dynamodb: TwoTableDynamoDB) -> None:
    """Copies all items from the shared table to the silo, as the job of a move does."""
    item_sync = ItemSync(caller=handle(dynamodb, DUAL).caller, source=TABLE_NAME, target=SILO)
    for key in {*dynamodb.tables[TABLE_NAME], *dynamodb.tables[SILO]}:
        outcome = await item_sync.sync({"PK": {"S": key.partition}, "SK": {"S": key.sort}})
        assert outcome is not SyncOutcome.CONFLICT
