"""ARNs of tables, indexes and streams, and the tables that a call names."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfence_iam import arns
from keyfence_iam.authorization.leading_keys import leading_keys
from keyfence_iam.deployment import Deployment
from keyfence_iam.dynamodb.parameters import Parameters, UnsupportedRequest, key_string
from keyfence_iam.dynamodb.table_schema import TableSchema
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,255}")
_ARN = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):dynamodb:(?P<region>[a-z0-9-]+):(?P<account>[0-9]{12})"
    r":table/(?P<table>[A-Za-z0-9_.-]{1,255})(?:/(?P<kind>index|stream)/(?P<part>[A-Za-z0-9_.:-]{1,255}))?"
)


@dataclass(frozen=True, slots=True)
class TableArn:
    """The ARN of a table that a call names. `name` is None if the table is outside of the scope."""

    name: str | None
    arn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArnScope:
    """One account and region. `other_regions` are regions that an engine writes into its ARNs instead."""

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
        return arns.table_arn(name, region=self.region, account=self.account, partition=self.partition)

    def locate(self, name_or_arn: str) -> TableArn:
        """Return the ARN of a table. Raises UnsupportedRequest if the text is neither a name nor a table's ARN."""
        if _NAME.fullmatch(name_or_arn):
            return TableArn(name_or_arn, self.table_arn(name_or_arn))
        found = _ARN.fullmatch(name_or_arn)
        if found is None or found["kind"]:
            raise UnsupportedRequest("TableName must be the name or the ARN of a table")
        return self.locate(found["table"]) if self._contains(found) else TableArn(None, name_or_arn)

    def resource(self, arn: str, kinds: frozenset[str | None]) -> str:
        """Return the ARN of a table, index or stream with the region that policies name.

        Raises UnsupportedRequest if the ARN is of another kind. The kind of a table is None.
        """
        found = _ARN.fullmatch(arn)
        if found is None or found["kind"] not in kinds:
            expected = " or a ".join(sorted(kind or "table" for kind in kinds))
            raise UnsupportedRequest(f"the ARN must be that of a {expected}")
        if not self._contains(found):
            return arn
        table_arn = self.table_arn(found["table"])
        if found["kind"] == "index":
            return arns.index_arn(table_arn, found["part"])
        return arns.stream_arn(table_arn, found["part"]) if found["kind"] == "stream" else table_arn

    def _contains(self, found: re.Match[str]) -> bool:
        in_region = found["region"] == self.region or found["region"] in self.other_regions
        return in_region and (found["partition"], found["account"]) == (self.partition, self.account)


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table that a call names. `schema` is None if it is not known."""

    arn: str
    schema: TableSchema | None

    def resource(self, index: str | None) -> str:
        return self.arn if index is None else index_arn(self.arn, index)

    def leading_keys(self, items: Iterable[Mapping[str, Any]]) -> dict[str, ContextValue]:
        if self.schema is None:
            return {}
        return leading_keys([[key_string(_required(item, self.schema.partition_key)) for item in items]])

    def reject_key_update(self, changed: Iterable[str]) -> None:
        """Raise UnsupportedRequest if an update changes the partition key.

        DynamoDB rejects this itself. An engine that accepts it would move the item out of the authorized partition.
        """
        if self.schema is not None and self.schema.partition_key in changed:
            raise UnsupportedRequest("an update must not change the partition key")


@dataclass(frozen=True, slots=True)
class NamedTables:
    """Finds the tables that a call names. `unknown` collects those whose schema is needed but not known."""

    scope: ArnScope
    schemas: Mapping[str, TableSchema]
    unknown: set[str] = field(default_factory=set)

    def resource(self, name_or_arn: str) -> str:
        """Return the ARN of a table whose schema is not needed."""
        return self.scope.locate(name_or_arn).arn

    def get(self, name_or_arn: str) -> NamedTable:
        table = self.scope.locate(name_or_arn)
        schema = None if table.name is None else self.schemas.get(table.name)
        if schema is None:
            self.unknown.add(table.name or table.arn)
        return NamedTable(table.arn, schema)


AuthorizationBuilder = Callable[[Parameters, NamedTables], Iterator[AuthorizationRequest]]
"""Yields the authorization requests of a call of one operation."""


def index_arn(table_arn: str, index: str) -> str:
    if not _NAME.fullmatch(index):
        raise UnsupportedRequest("the name of an index has only letters, digits, '_', '.' and '-'")
    return arns.index_arn(table_arn, index)


def _required(item: Mapping[str, Any], partition_key: str) -> object:
    if partition_key not in item:
        raise UnsupportedRequest(f"the partition key {partition_key!r} is missing")
    return item[partition_key]
