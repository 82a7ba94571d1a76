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
from tests.fakes.expressions import BadExpression, holds, placeholders, updated
from tests.fakes.scripted_dynamodb import CREDENTIALS, KEY, NAME, Call

ACME = TenantId("acme")
SILO = f"{NAME}-silo-{ACME}"
Items = dict[KeyPair, Item]


@dataclass
class TwoTableDynamoDB:
    """Transactions can write to both tables. `failing_tables` has the error that calls of a table raise, `before_calls`
    the functions that run right before the next calls."""

    tables: dict[str, Items] = field(default_factory=lambda: {NAME: {}, SILO: {}})
    calls: list[Call] = field(default_factory=list)
    failing_tables: dict[str, DynamoDbError] = field(default_factory=dict)
    before_calls: list[Callable[[], object] | None] = field(default_factory=list)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        await asyncio.sleep(0)
        self.calls.append(Call(operation, parameters))
        if self.before_calls and (interlude := self.before_calls.pop(0)):
            interlude()
        for table in _tables(operation, parameters):
            if table in self.failing_tables:
                raise self.failing_tables[table]
        if operation == "TransactWriteItems":
            return self._transact(parameters["TransactItems"])
        (table,) = _tables(operation, parameters)
        answer = await InMemoryDynamoDB(self.tables[table]).call(
            operation, parameters_for_table(NAME, parameters), credentials
        )
        if "Responses" in answer:
            return {"Responses": {table: answer["Responses"][NAME]}}
        return answer

    def close(self) -> None: ...

    def _transact(self, members: list[Any]) -> Answer:
        pairs = [(verb, body) for member in members for verb, body in member.items()]
        subjects = [(body["TableName"], address(body.get("Key") or body["Item"])) for _, body in pairs]
        assert len(set(subjects)) == len(subjects) <= 100
        ended = [self._ended(verb, body, *subject) for (verb, body), subject in zip(pairs, subjects, strict=True)]
        if any(isinstance(one, str) for one in ended):
            reasons = tuple(one if isinstance(one, str) else "None" for one in ended)
            raise DynamoDbError("TransactionCanceledException", "", reasons)
        for (table, key), item in zip(subjects, ended, strict=True):
            self.tables[table].pop(key, None)
            if isinstance(item, dict):
                self.tables[table][key] = item
        return {}

    def _ended(self, verb: str, body: Mapping[str, Any], table: str, key: KeyPair) -> Item | str | None:
        """Returns the item after the write, None for a deleted one, or the reason for which the write is cancelled."""
        used, defined = placeholders(body)
        assert used == defined
        item = self.tables[table].get(key)
        if not holds(body, item or {}):
            return "ConditionalCheckFailed"
        try:
            after = updated(body, item or dict(body["Key"])) if verb == "Update" else item
        except BadExpression:
            return "ValidationError"
        given: Item | None = {"Put": body.get("Item"), "Delete": None}.get(verb, after)
        return given


def address(item: Item) -> KeyPair:
    return KeyPair(item["PK"]["S"], item["SK"]["S"])


def _tables(operation: str, parameters: Mapping[str, Any]) -> list[str]:
    if operation == "TransactWriteItems":
        return [body["TableName"] for member in parameters["TransactItems"] for body in member.values()]
    return list(parameters["RequestItems"]) if "RequestItems" in parameters else [parameters["TableName"]]


class InMemoryTables:
    """Gives credentials to every caller, and records the placements in `asked`."""

    def __init__(self) -> None:
        self.asked: list[TableAccess] = []

    def for_tenant(self, tenant: TenantId, *, writes: bool, table_access: TableAccess) -> CredentialSource:
        self.asked.append(table_access)
        return self._given

    def for_control_plane(self, *, writes: bool) -> CredentialSource:
        return self._given

    async def _given(self) -> Credentials:
        return CREDENTIALS


POOLED = TenantLocation(tenant=ACME)
DUAL = TenantLocation(tenant=ACME, also_write_to=TableAccess.SILO)
SHADOW = TenantLocation(tenant=ACME, also_write_to=TableAccess.SILO, compare_reads=True)
SWITCHED = TenantLocation(tenant=ACME, read_from=TableAccess.SILO, also_write_to=TableAccess.POOL)
SILOED = TenantLocation(tenant=ACME, read_from=TableAccess.SILO)


def handle(
    dynamodb: TwoTableDynamoDB,
    home: TenantLocation,
    on_difference: OnDifference = ignore_difference,
    *,
    writes: bool = True,
) -> Table:
    tables = Tables(
        client=dynamodb,
        name=NAME,
        cursors=CursorCodec([KEY]),
        credentials=InMemoryTables(),
        on_difference=on_difference,
    )
    return tables.for_tenant(home, writes=writes)


async def backfilled(dynamodb: TwoTableDynamoDB) -> None:
    """Returns the items of both tables after the move has copied them."""
    likeness = ItemSync(caller=handle(dynamodb, DUAL).caller, source=NAME, target=SILO)
    for key in {*dynamodb.tables[NAME], *dynamodb.tables[SILO]}:
        outcome = await likeness.sync({"PK": {"S": key.partition}, "SK": {"S": key.sort}})
        assert outcome is not SyncOutcome.CONFLICT
