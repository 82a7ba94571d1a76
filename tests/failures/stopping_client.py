"""A DynamoDB client that stops at a write, and one whose index lags behind."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.table import Table
from keyfence_iam.credentials import Credentials


class Stopped(Exception):
    """The client stopped."""


@dataclass(slots=True)
class StoppingClient:
    """Sends some writes, then raises Stopped right before or right after the next one."""

    client: DynamoDb
    writes: int
    after: bool

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        if operation != "TransactWriteItems":
            return await self.client.call(operation, parameters, credentials)
        self.writes -= 1
        if self.writes < 0 and not self.after:
            raise Stopped
        answer = await self.client.call(operation, parameters, credentials)
        if self.writes < 0:
            raise Stopped
        return answer

    def close(self) -> None: ...


@dataclass(slots=True)
class StaleIndexClient:
    """Shows only the first item of each index partition, for a number of queries."""

    client: DynamoDb
    index: str
    queries: int
    shown: dict[str, list[Any]] = field(default_factory=dict)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        answer = await self.client.call(operation, parameters, credentials)
        if parameters.get("IndexName") != self.index or self.queries <= 0:
            return answer
        self.queries -= 1
        partition = parameters["ExpressionAttributeValues"][":p"]["S"]
        return {**answer, "Items": self.shown.setdefault(partition, answer["Items"][:1])}

    def close(self) -> None: ...


def through(table: Table, client: DynamoDb) -> Table:
    return replace(table, caller=replace(table.caller, client=client))
