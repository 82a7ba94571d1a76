"""A DynamoDB client that stops at a write, and a client that reads from an index that lags behind."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.table import Table
from keyfence_iam.credentials import Credentials


class Stopped(Exception):
    """The client has stopped on purpose."""


@dataclass(slots=True)
class StoppingClient:
    """Sends a number of writes. Then it raises Stopped, before the next write or after it."""

    client: DynamoDb
    remaining_writes: int
    stops_after_write: bool

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        if operation != "TransactWriteItems":
            return await self.client.call(operation, parameters, credentials)
        self.remaining_writes -= 1
        if self.remaining_writes < 0 and not self.stops_after_write:
            raise Stopped
        answer = await self.client.call(operation, parameters, credentials)
        if self.remaining_writes < 0:
            raise Stopped
        return answer

    def close(self) -> None: ...


@dataclass(slots=True)
class StaleIndexClient:
    """Returns only the first item of each partition of the index, for the next `queries` queries."""

    client: DynamoDb
    index: str
    queries: int
    items_by_partition: dict[str, list[Any]] = field(default_factory=dict)
    """The items that the first query of a partition returned. Later queries return the same items."""

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        answer = await self.client.call(operation, parameters, credentials)
        if parameters.get("IndexName") != self.index or self.queries <= 0:
            return answer
        self.queries -= 1
        partition = parameters["ExpressionAttributeValues"][":p"]["S"]
        return {**answer, "Items": self.items_by_partition.setdefault(partition, answer["Items"][:1])}

    def close(self) -> None: ...


def with_client(table: Table, client: DynamoDb) -> Table:
    return replace(table, caller=replace(table.caller, client=client))
