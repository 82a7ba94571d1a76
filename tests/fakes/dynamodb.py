"""DynamoDB with one table, in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from keyfence.store.codec import Item
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.entity import Entity, Index, key_names
from keyfence.store.keys import Fence, KeyPair
from keyfence.store.shards import UNSHARDED, ShardMap
from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import parse_tenant_id
from tests.fakes.expressions import holds, updated
from tests.fakes.scripted_dynamodb import NAME, Call


@dataclass
class InMemoryDynamoDB:
    """DynamoDB with one table in a dict.

    `page_items` is how many items fit a page, in place of 1 MB. A query of a key in `failing_partitions` raises the
    error code that stands beside it."""

    items: dict[KeyPair, Item] = field(default_factory=dict)
    page_items: int = 1000
    failing_partitions: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        self.calls.append(Call(operation, parameters))
        answer: Answer = getattr(self, f"_{operation}")(parameters)
        return answer

    def close(self) -> None: ...

    def store(self, entity: Entity[Any], *models: Any, tenant: str = "acme", shards: ShardMap = UNSHARDED) -> None:
        for model in models:
            item = entity.to_item(model, Fence.for_tenant(parse_tenant_id(tenant)), shards)
            self.items[_address(item)] = item

    def _GetItem(self, parameters: Mapping[str, Any]) -> Answer:
        item = self.items.get(_address(parameters["Key"]))
        return {"Item": item} if item else {}

    def _BatchGetItem(self, parameters: Mapping[str, Any]) -> Answer:
        keys = [_address(key) for key in parameters["RequestItems"][NAME]["Keys"]]
        return {"Responses": {NAME: [self.items[key] for key in keys if key in self.items]}}

    def _TransactGetItems(self, parameters: Mapping[str, Any]) -> Answer:
        keys = [_address(one["Get"]["Key"]) for one in parameters["TransactItems"]]
        return {"Responses": [{"Item": self.items[key]} if key in self.items else {} for key in keys]}

    def _BatchWriteItem(self, parameters: Mapping[str, Any]) -> Answer:
        for request in parameters["RequestItems"][NAME]:
            self.items.pop(_address(request["DeleteRequest"]["Key"]), None)
        return {}

    def _TransactWriteItems(self, parameters: Mapping[str, Any]) -> Answer:
        members = [(verb, body) for member in parameters["TransactItems"] for verb, body in member.items()]
        met = [holds(body, self.items.get(_subject(body), {})) for _, body in members]
        if not all(met):
            reasons = tuple("None" if fine else "ConditionalCheckFailed" for fine in met)
            raise DynamoDbError("TransactionCanceledException", "", reasons)
        for verb, body in members:
            self._write(verb, body)
        return {}

    def _write(self, verb: str, body: Mapping[str, Any]) -> None:
        subject = _subject(body)
        if verb == "Put":
            self.items[subject] = body["Item"]
        elif verb == "Update":
            self.items[subject] = updated(body, self.items.get(subject, dict(body["Key"])))
        elif verb == "Delete":
            self.items.pop(subject, None)

    def _Query(self, parameters: Mapping[str, Any]) -> Answer:
        partition = parameters["ExpressionAttributeValues"][":p"]["S"]
        if partition in self.failing_partitions:
            raise DynamoDbError(self.failing_partitions[partition], "not this one")
        names = key_names(_index(parameters))
        if (start := parameters.get("ExclusiveStartKey")) and not _reached(start, names, parameters):
            raise DynamoDbError("ValidationException", "the starting key is outside the boundaries of the query")
        found = sorted(
            (
                item
                for item in self.items.values()
                if _lies(item, names, partition) and _reached(item, names, parameters)
            ),
            key=lambda item: _place(item, names),
            reverse=not parameters["ScanIndexForward"],
        )
        limit = min(parameters["Limit"], self.page_items)
        taken = list(islice((item for item in found if _follows(item, names, parameters)), limit))
        last = {"LastEvaluatedKey": _key(taken[-1], names)} if len(taken) == limit else {}
        return {"Items": taken, **last}


def _address(item: Item) -> KeyPair:
    return KeyPair(item["PK"]["S"], item["SK"]["S"])


def _subject(body: Mapping[str, Any]) -> KeyPair:
    return _address(body.get("Key") or body["Item"])


def _index(parameters: Mapping[str, Any]) -> Index:
    indexes: dict[str, Index] = {"GSI1": "gsi1", "GSI2": "gsi2", "GSI3": "gsi3"}
    return indexes.get(parameters.get("IndexName", ""), "table")


def _lies(item: Item, names: KeyPair, partition: str) -> bool:
    return item.get(names.partition) == {"S": partition}


def _reached(item: Item, names: KeyPair, parameters: Mapping[str, Any]) -> bool:
    given = {name: value["S"] for name, value in parameters["ExpressionAttributeValues"].items()}
    _, _, condition = parameters["KeyConditionExpression"].partition("#p = :p")
    sort = item[names.sort]["S"]
    match condition.removeprefix(" AND "):
        case "":
            return True
        case "begins_with(#s, :s)":
            return bool(sort.startswith(given[":s"]))
        case "#s >= :low":
            return bool(sort >= given[":low"])
        case "#s <= :high":
            return bool(sort <= given[":high"])
        case "#s BETWEEN :low AND :high":
            if given[":low"] > given[":high"]:
                raise DynamoDbError("ValidationException", "the lower bound is above the upper")
            return bool(given[":low"] <= sort <= given[":high"])
    raise AssertionError(condition)


def _place(item: Item, names: KeyPair) -> tuple[str, str, str]:
    return item[names.sort]["S"], *_address(item)


def _follows(item: Item, names: KeyPair, parameters: Mapping[str, Any]) -> bool:
    if (start := parameters.get("ExclusiveStartKey")) is None:
        return True
    here, there = _place(item, names), _place(start, names)
    return here > there if parameters["ScanIndexForward"] else here < there


def _key(item: Item, names: KeyPair) -> Item:
    return {name: item[name] for name in {"PK", "SK", *names}}
