"""ARNs of tables, indexes and streams, and the tables that a call names."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfence_iam import arns
from keyfence_iam.authorization.leading_keys import leading_keys
from keyfence_iam.deployment import Deployment
from keyfence_iam.dynamodb.request_parameters import Parameters, UnsupportedRequest, key_string
from keyfence_iam.dynamodb.table_schema import TableSchema
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue

_TABLE_OR_INDEX_NAME = re.compile(r"[A-Za-z0-9_.-]{1,255}")
_ARN = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):dynamodb:(?P<region>[a-z0-9-]+):(?P<account>[0-9]{12})"
    r":table/(?P<table>[A-Za-z0-9_.-]{1,255})(?:/(?P<kind>index|stream)/(?P<index_or_label>[A-Za-z0-9_.:-]{1,255}))?"
)


@dataclass(frozen=True, slots=True)
class TableReference:
    """A table that a call names. `name` is None if the table belongs to another account or region."""

    name: str | None
    arn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArnScope:
    """One account and region. An engine may write one of `region_aliases` into its ARNs instead of `region`."""

    account: str
    region: str
    partition: str = "aws"
    region_aliases: frozenset[str] = frozenset()

    @classmethod
    def of(cls, deployment: Deployment, region_aliases: frozenset[str] = frozenset()) -> "ArnScope":
        return cls(
            account=deployment.account,
            region=deployment.region,
            partition=deployment.partition,
            region_aliases=region_aliases,
        )

    def table_arn(self, name: str) -> str:
        return arns.table_arn(name, region=self.region, account=self.account, partition=self.partition)

    def owns(self, resource: str) -> bool:
        """Returns whether the resource of an authorization request is in this account and region.

        Returns True for `*`, which names no account.
        """
        return resource == "*" or resource.startswith(self.table_arn(""))

    def own_table(self, arn: str) -> str | None:
        """Returns the name of the table that has this ARN.

        Returns None if this is not the ARN of a table in this account and region.
        """
        match = _ARN.fullmatch(arn)
        return match["table"] if match and not match["kind"] and self._contains(match) else None

    def parse_table(self, name_or_arn: str) -> TableReference:
        """Returns the table. Raises UnsupportedRequest if the text is neither a table's name nor a table's ARN."""
        if _TABLE_OR_INDEX_NAME.fullmatch(name_or_arn):
            return TableReference(name_or_arn, self.table_arn(name_or_arn))
        match = _ARN.fullmatch(name_or_arn)
        if match is None or match["kind"]:
            raise UnsupportedRequest("TableName must be the name or the ARN of a table")
        if not self._contains(match):
            return TableReference(None, name_or_arn)
        return self.parse_table(match["table"])

    def normalize_arn(self, arn: str, allowed_kinds: frozenset[str | None]) -> str:
        """Returns the ARN of a table, index or stream with `region` in place of one of `region_aliases`.

        An ARN of another account or region is returned unchanged. `allowed_kinds` contains "index", "stream", or None,
        which means a table. Raises UnsupportedRequest if the ARN is of any other kind.
        """
        match = _ARN.fullmatch(arn)
        if match is None or match["kind"] not in allowed_kinds:
            expected = ", ".join(sorted(kind or "table" for kind in allowed_kinds))
            raise UnsupportedRequest(f"the ARN must name one of: {expected}")
        if not self._contains(match):
            return arn
        table_arn = self.table_arn(match["table"])
        if match["kind"] == "index":
            return arns.index_arn(table_arn, match["index_or_label"])
        return arns.stream_arn(table_arn, match["index_or_label"]) if match["kind"] == "stream" else table_arn

    def _contains(self, arn: re.Match[str]) -> bool:
        in_region = arn["region"] == self.region or arn["region"] in self.region_aliases
        return in_region and (arn["partition"], arn["account"]) == (self.partition, self.account)


@dataclass(frozen=True, slots=True)
class TableWithSchema:
    """The ARN and the schema of a table that a call names. `schema` is None if it is not known."""

    arn: str
    schema: TableSchema | None

    def leading_keys(self, items: Iterable[Mapping[str, Any]]) -> dict[str, ContextValue]:
        """Returns the condition keys about leading keys, with the partition key of each item as values.

        Returns an empty dict if the schema is not known.
        """
        if self.schema is None:
            return {}
        partition_key = self.schema.partition_key
        return leading_keys([[key_string(_required_attribute(item, partition_key)) for item in items]])

    def reject_key_update(self, changed_attributes: Iterable[str]) -> None:
        """Raises UnsupportedRequest if an update changes the partition key.

        DynamoDB rejects such an update itself. An engine that accepts it would move the item out of the partition
        that IAM has authorized.
        """
        if self.schema is not None and self.schema.partition_key in changed_attributes:
            raise UnsupportedRequest("an update must not change the partition key")


@dataclass(frozen=True, slots=True)
class TableResolver:
    """Finds the tables that a call names, and collects those whose schema is needed but not known."""

    scope: ArnScope
    schemas: Mapping[str, TableSchema]
    tables_without_schema: set[str] = field(default_factory=set)
    """Names of tables, or ARNs of tables in another account or region."""

    def arn(self, name_or_arn: str) -> str:
        """Returns the ARN of a table whose schema is not needed."""
        return self.scope.parse_table(name_or_arn).arn

    def get(self, name_or_arn: str) -> TableWithSchema:
        """Returns a table with its schema. If the schema is not known, adds the table to `tables_without_schema`."""
        table = self.scope.parse_table(name_or_arn)
        schema = None if table.name is None else self.schemas.get(table.name)
        if schema is None:
            self.tables_without_schema.add(table.name or table.arn)
        return TableWithSchema(table.arn, schema)


AuthorizationBuilder = Callable[[Parameters, TableResolver], Iterator[AuthorizationRequest]]
"""A function that yields the authorization requests of a call. Each operation has its own builder."""


def resource_arn(table_arn: str, index: str | None) -> str:
    """Returns the ARN of the index, or of the table if `index` is None.

    Raises UnsupportedRequest if `index` is not a valid name of an index.
    """
    if index is None:
        return table_arn
    if not _TABLE_OR_INDEX_NAME.fullmatch(index):
        raise UnsupportedRequest("the name of an index has 1 to 255 letters, digits, '_', '.' and '-'")
    return arns.index_arn(table_arn, index)


def _required_attribute(item: Mapping[str, Any], name: str) -> object:
    if name not in item:
        raise UnsupportedRequest(f"the partition key {name!r} is missing")
    return item[name]
