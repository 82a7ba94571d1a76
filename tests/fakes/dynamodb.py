"""DynamoDB with one table, in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from keyfence.store.codec import Item
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.entity import Entity, Index, key_names
from keyfence.store.keys import KeyPair
from keyfence.store.shards import UNSHARDED, ShardMap
from keyfence_iam.credentials import Credentials
from tests.fakes.expressions import apply_update, meets_condition
from tests.fakes.fences import tenant_fence
from tests.fakes.scripted_dynamodb import TABLE_NAME, Call


@dataclass
class InMemoryDynamoDB:
    """DynamoDB with one table in a dict."""

    items: dict[KeyPair, Item] = field(default_factory=dict)
    page_items: int = 1000
    """How many items fit into one page of a query, instead of 1 MB."""
    failing_partitions: dict[str, str] = field(default_factory=dict)
    """The error code that queries of a partition raise, by the partition key."""
    calls: list[Call] = field(default_factory=list)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        self.calls.append(Call(operation, parameters))
        answer: Answer = getattr(self, f"_{operation}")(parameters)
        return answer

    def close(self) -> None: ...

    def store(self, entity: Entity[Any], *models: Any, tenant: str = "acme", shards: ShardMap = UNSHARDED) -> None:
        for model in models:
            item = entity.to_item(model, tenant_fence(tenant), shards)
            self.items[_primary_key(item)] = item

    def _GetItem(self, parameters: Mapping[str, Any]) -> Answer:
        item = self.items.get(_primary_key(parameters["Key"]))
        return {"Item": item} if item else {}

    def _BatchGetItem(self, parameters: Mapping[str, Any]) -> Answer:
        keys = [_primary_key(key) for key in parameters["RequestItems"][TABLE_NAME]["Keys"]]
        return {"Responses": {TABLE_NAME: [self.items[key] for key in keys if key in self.items]}}

    def _TransactGetItems(self, parameters: Mapping[str, Any]) -> Answer:
        keys = [_primary_key(member["Get"]["Key"]) for member in parameters["TransactItems"]]
        return {"Responses": [{"Item": self.items[key]} if key in self.items else {} for key in keys]}

    def _BatchWriteItem(self, parameters: Mapping[str, Any]) -> Answer:
        for request in parameters["RequestItems"][TABLE_NAME]:
            self.items.pop(_primary_key(request["DeleteRequest"]["Key"]), None)
        return {}

    def _TransactWriteItems(self, parameters: Mapping[str, Any]) -> Answer:
        members = [(verb, body) for member in parameters["TransactItems"] for verb, body in member.items()]
        conditions_met = [meets_condition(body, self.items.get(_key_of_write(body), {})) for _, body in members]
        if not all(conditions_met):
            reasons = tuple("None" if is_met else "ConditionalCheckFailed" for is_met in conditions_met)
            raise DynamoDbError("TransactionCanceledException", "", reasons)
        for verb, body in members:
            self._write(verb, body)
        return {}

    def _write(self, verb: str, body: Mapping[str, Any]) -> None:
        key = _key_of_write(body)
        if verb == "Put":
            self.items[key] = body["Item"]
        elif verb == "Update":
            self.items[key] = apply_update(body, self.items.get(key, dict(body["Key"])))
        elif verb == "Delete":
            self.items.pop(key, None)

    def _Query(self, parameters: Mapping[str, Any]) -> Answer:
        partition = parameters["ExpressionAttributeValues"][":p"]["S"]
        if partition in self.failing_partitions:
            raise DynamoDbError(self.failing_partitions[partition], "the partition fails in this test")
        names = key_names(_index(parameters))
        if (start := parameters.get("ExclusiveStartKey")) and not _meets_key_condition(start, names, parameters):
            raise DynamoDbError("ValidationException", "the starting key is outside the boundaries of the query")
        matching = sorted(
            (
                item
                for item in self.items.values()
                if _is_in_partition(item, names, partition) and _meets_key_condition(item, names, parameters)
            ),
            key=lambda item: _sort_position(item, names),
            reverse=not parameters["ScanIndexForward"],
        )
        limit = min(parameters["Limit"], self.page_items)
        page = list(islice((item for item in matching if _is_after_start(item, names, parameters)), limit))
        last = {"LastEvaluatedKey": _page_key(page[-1], names)} if len(page) == limit else {}
        return {"Items": page, **last}


def _primary_key(item: Item) -> KeyPair:
    return KeyPair(item["PK"]["S"], item["SK"]["S"])


def _key_of_write(body: Mapping[str, Any]) -> KeyPair:
    return _primary_key(body.get("Key") or body["Item"])


def _index(parameters: Mapping[str, Any]) -> Index:
    indexes: dict[str, Index] = {"GSI1": "gsi1", "GSI2": "gsi2", "GSI3": "gsi3"}
    return indexes.get(parameters.get("IndexName", ""), "table")


def _is_in_partition(item: Item, names: KeyPair, partition: str) -> bool:
    return item.get(names.partition) == {"S": partition}


def _meets_key_condition(item: Item, names: KeyPair, parameters: Mapping[str, Any]) -> bool:
    values = {name: value["S"] for name, value in parameters["ExpressionAttributeValues"].items()}
    _, _, condition = parameters["KeyConditionExpression"].partition("#p = :p")
    sort = item[names.sort]["S"]
    match condition.removeprefix(" AND "):
        case "":
            return True
        case "begins_with(#s, :s)":
            return bool(sort.startswith(values[":s"]))
        case "#s >= :low":
            return bool(sort >= values[":low"])
        case "#s <= :high":
            return bool(sort <= values[":high"])
        case "#s BETWEEN :low AND :high":
            if values[":low"] > values[":high"]:
                raise DynamoDbError("ValidationException", "the lower bound is above the upper")
            return bool(values[":low"] <= sort <= values[":high"])
    raise AssertionError(condition)


def _sort_position(item: Item, names: KeyPair) -> tuple[str, str, str]:
    return item[names.sort]["S"], *_primary_key(item)


def _is_after_start(item: Item, names: KeyPair, parameters: Mapping[str, Any]) -> bool:
    if (start := parameters.get("ExclusiveStartKey")) is None:
        return True
    position, start_position = _sort_position(item, names), _sort_position(start, names)
    return position > start_position if parameters["ScanIndexForward"] else position < start_position


def _page_key(item: Item, names: KeyPair) -> Item:
    return {name: item[name] for name in {"PK", "SK", *names}}
