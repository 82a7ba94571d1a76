"""ARNs of tables, indexes and streams in one account and region."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfence_iam.authorization.leading_keys import leading_keys
from keyfence_iam.deployment import Deployment
from keyfence_iam.dynamodb.parameters import UnsupportedRequest, key_string
from keyfence_iam.dynamodb.table_schema import TableSchema
from keyfence_iam.evaluator.request import ContextValue

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,255}")
_ARN = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):dynamodb:(?P<region>[a-z0-9-]+):(?P<account>[0-9]{12})"
    r":table/(?P<table>[A-Za-z0-9_.-]{1,255})(?:/(?P<kind>index|stream)/(?P<part>[A-Za-z0-9_.:-]{1,255}))?"
)


@dataclass(frozen=True, slots=True)
class TableArn:
    """A table as a call names it; `name` is None where it is not a table of this place."""

    name: str | None
    arn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArnScope:
    """One region of one account; engines that write a region of their own into ARNs have it in `other_regions`."""

    account: str
    region: str
    partition: str = "aws"
    other_regions: frozenset[str] = frozenset()

    @classmethod
    def of(cls, deployment: Deployment, other_regions: frozenset[str] = frozenset()) -> "ArnScope":
        return cls(
            account=deployment.account,
            region=deployment.region,
            partition=deployment.partition,
            other_regions=other_regions,
        )

    def table_arn(self, name: str) -> str:
        return f"arn:{self.partition}:dynamodb:{self.region}:{self.account}:table/{name}"

    def locate(self, named: str) -> TableArn:
        """A table by its name or its ARN."""
        if _NAME.fullmatch(named):
            return TableArn(named, self.table_arn(named))
        found = _ARN.fullmatch(named)
        if found is None or found["kind"]:
            raise UnsupportedRequest("a table is named by its name or its ARN")
        return self.locate(found["table"]) if self._holds(found) else TableArn(None, named)

    def resource(self, arn: str, kinds: frozenset[str | None]) -> str:
        """The ARN of a table or of what belongs to it, with the region that policies know."""
        found = _ARN.fullmatch(arn)
        if found is None or found["kind"] not in kinds:
            raise UnsupportedRequest(f"not the ARN of a {' or a '.join(sorted(kind or 'table' for kind in kinds))}")
        if not self._holds(found):
            return arn
        return self.table_arn(found["table"]) + (f"/{found['kind']}/{found['part']}" if found["kind"] else "")

    def _holds(self, found: re.Match[str]) -> bool:
        local = found["region"] == self.region or found["region"] in self.other_regions
        return local and (found["partition"], found["account"]) == (self.partition, self.account)


def index_arn(table_arn: str, index: str) -> str:
    if not _NAME.fullmatch(index):
        raise UnsupportedRequest("an index name has letters, digits, '_', '.' and '-'")
    return f"{table_arn}/index/{index}"


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A named table; without `keys` nothing is known of what leads its items."""

    arn: str
    schema: TableSchema | None

    def resource(self, index: str | None) -> str:
        return self.arn if index is None else index_arn(self.arn, index)

    def leading_keys(self, items: Iterable[Mapping[str, Any]]) -> dict[str, ContextValue]:
        if self.schema is None:
            return {}
        return leading_keys([[key_string(_required(item, self.schema.partition_key)) for item in items]])

    def reject_key_update(self, changed: Iterable[str]) -> None:
        """DynamoDB refuses to move an item; an engine that does would move it past these questions."""
        if self.schema is not None and self.schema.partition_key in changed:
            raise UnsupportedRequest("an update that changes the partition key")


def _required(item: Mapping[str, Any], partition: str) -> object:
    if partition not in item:
        raise UnsupportedRequest(f"the partition key {partition!r} is missing")
    return item[partition]


@dataclass(frozen=True, slots=True)
class NamedTables:
    """The tables of a place, and which of those that were named and must be known are not."""

    scope: ArnScope
    schemas: Mapping[str, TableSchema]
    unknown: set[str] = field(default_factory=set)

    def resource(self, named: str) -> str:
        """The table's ARN, where its keys do not matter."""
        return self.scope.locate(named).arn

    def get(self, named: str) -> NamedTable:
        location = self.scope.locate(named)
        keys = None if location.name is None else self.schemas.get(location.name)
        if keys is None:
            self.unknown.add(location.name or location.arn)
        return NamedTable(location.arn, keys)
