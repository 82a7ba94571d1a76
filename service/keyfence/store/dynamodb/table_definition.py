"""The definition of the table, and the admin calls that create, check and delete the pool table and silo tables."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from keyfence.errors import KeyfenceError
from keyfence.store.dynamodb.caller import CredentialSource
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.entity import INDEXES, Index, key_names
from keyfence.store.entity_registry import MAX_INCLUDED_ATTRIBUTES, Projections
from keyfence_iam.boto_session import boto_session_with, client_config
from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import silo_table
from keyfence_iam.tenant import TenantId

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


AWS_ERRORS = (ClientError, BotoCoreError)
"""The errors that boto3 raises if AWS cannot be reached or returns an error."""


class TableDiffers(KeyfenceError):
    """The table does not exist or does not fit its definition. The message has a line for each difference."""


_WAITER_CONFIG: Any = {"Delay": 1, "MaxAttempts": 120}
"""boto3 checks every second, for at most two minutes, whether a table has been created or deleted."""


def table_definition(table: str, projections: Projections) -> dict[str, Any]:
    """Returns the parameters of CreateTable."""
    names = [name for index in ("table", *INDEXES) for name in key_names(index)]
    return {
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in names],
        "KeySchema": _key_schema("table"),
        "GlobalSecondaryIndexes": [_index_definition(index, projections.get(index, ())) for index in INDEXES],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def _index_definition(index: Index, attributes: Sequence[str]) -> dict[str, Any]:
    return {"IndexName": index.upper(), "KeySchema": _key_schema(index), "Projection": _projection(attributes)}


def _projection(attributes: Sequence[str]) -> dict[str, Any]:
    if not attributes:
        return {"ProjectionType": "KEYS_ONLY"}
    if len(attributes) > MAX_INCLUDED_ATTRIBUTES:
        return {"ProjectionType": "ALL"}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": sorted(attributes)}


def _key_schema(index: Index) -> list[dict[str, str]]:
    names = key_names(index)
    return [
        {"AttributeName": names.partition, "KeyType": "HASH"},
        {"AttributeName": names.sort, "KeyType": "RANGE"},
    ]


@dataclass(frozen=True, slots=True)
class TableAdmin:
    """Creates, checks and deletes one table. These calls are blocking."""

    client: "DynamoDBClient"
    table: str
    projections: Projections

    @classmethod
    def connect(
        cls,
        options: ConnectionOptions,
        table: str,
        projections: Projections,
        credentials: Credentials | None = None,
    ) -> "TableAdmin":
        """Returns an admin of the table. If `credentials` is None, it uses the credentials that boto3 finds."""
        config = client_config(
            options.endpoint_url,
            connect_timeout=5,  # seconds; longer than for requests, because admin calls are rare and slow
            read_timeout=30,
            retries={"mode": "standard", "total_max_attempts": 5},
        )
        session = boto_session_with(credentials) if credentials else boto3.Session()
        client = session.client(
            "dynamodb", region_name=options.region, endpoint_url=options.endpoint_url, config=config
        )
        return cls(client, table, projections)

    def create(self) -> bool:
        """Creates the table and waits until it can be used. Returns False if the table exists already.

        Also enables time to live and point-in-time recovery, on an existing table too."""
        try:
            self.client.create_table(**table_definition(self.table, self.projections))
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceInUseException":
                raise
            is_new = False
        else:
            is_new = True
        self.client.get_waiter("table_exists").wait(TableName=self.table, WaiterConfig=_WAITER_CONFIG)
        self._enable_ttl()
        self._try_enable_recovery()
        return is_new

    def drop(self) -> None:
        """Deletes the table, if it exists, and waits until the deletion is complete."""
        try:
            self.client.delete_table(TableName=self.table)
        except self.client.exceptions.ResourceNotFoundException:
            return
        self.client.get_waiter("table_not_exists").wait(TableName=self.table, WaiterConfig=_WAITER_CONFIG)

    def check(self) -> None:
        """Raises TableDiffers if the table does not fit its definition."""
        if differences := self.differences():
            lines = (f"The table {self.table} differs from its definition:", *(f"  {line}" for line in differences))
            raise TableDiffers("\n".join(lines))

    def differences(self) -> list[str]:
        """Returns one line for each difference between the table and its definition."""
        try:
            actual = self.client.describe_table(TableName=self.table)["Table"]
        except self.client.exceptions.ResourceNotFoundException:
            return ["it does not exist"]
        expected = table_definition(self.table, self.projections)
        actual_indexes = {index["IndexName"]: index for index in actual.get("GlobalSecondaryIndexes", [])}
        differences = [] if _has_same_keys(actual, expected) else ["the table's key schema differs"]
        for index in expected["GlobalSecondaryIndexes"]:
            differences += _index_differences(index, actual_indexes.get(index["IndexName"]))
        if not actual.get("StreamSpecification", {}).get("StreamEnabled"):
            differences.append("the table has no stream")
        return differences + self._ttl_differences()

    def _enable_ttl(self) -> None:
        if self._ttl_differences():
            specification: Any = {"Enabled": True, "AttributeName": "ttl"}
            self.client.update_time_to_live(TableName=self.table, TimeToLiveSpecification=specification)

    def _try_enable_recovery(self) -> None:
        """Enables point-in-time recovery, if the engine supports it. Local engines may not."""
        try:
            self._enable_recovery()
        except ClientError as error:
            if error.response["Error"]["Code"] != "UnknownOperationException":
                raise

    def _enable_recovery(self) -> None:
        status = self.client.describe_continuous_backups(TableName=self.table)["ContinuousBackupsDescription"]
        if status.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") != "ENABLED":
            self.client.update_continuous_backups(
                TableName=self.table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            )

    def _ttl_differences(self) -> list[str]:
        actual = self.client.describe_time_to_live(TableName=self.table)["TimeToLiveDescription"]
        is_enabled = actual.get("TimeToLiveStatus") in {"ENABLED", "ENABLING"} and actual.get("AttributeName") == "ttl"
        return [] if is_enabled else ["time to live is not enabled on the attribute ttl"]


def _has_same_keys(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    return bool(actual["KeySchema"] == expected["KeySchema"])


def _index_differences(expected: Mapping[str, Any], actual: Mapping[str, Any] | None) -> list[str]:
    name = expected["IndexName"]
    if actual is None:
        return [f"the index {name} is missing"]
    differences = [] if _has_same_keys(actual, expected) else [f"the key schema of {name} differs"]
    projection = actual.get("Projection", {})
    if projection.get("ProjectionType") == "ALL":
        return differences
    if expected["Projection"]["ProjectionType"] == "ALL":
        differences.append(f"the index {name} does not project all attributes")
    else:
        needed = set(expected["Projection"].get("NonKeyAttributes", []))
        if missing := needed.difference(projection.get("NonKeyAttributes", [])):
            differences.append(f"the index {name} does not project {', '.join(sorted(missing))}")
    return differences


@dataclass(frozen=True, slots=True)
class SiloTables:
    """Creates and deletes the tables of single tenants (silos), with the same definition as the shared table (pool)."""

    options: ConnectionOptions
    pool_table: str
    projections: Projections
    credentials: CredentialSource

    async def create(self, tenant: TenantId) -> None:
        """Creates the tenant's table if it does not exist. Raises TableDiffers if it exists with another definition."""
        admin = await self._admin(tenant)
        await asyncio.to_thread(admin.create)
        await asyncio.to_thread(admin.check)

    async def drop(self, tenant: TenantId) -> None:
        await asyncio.to_thread((await self._admin(tenant)).drop)

    async def _admin(self, tenant: TenantId) -> TableAdmin:
        credentials = await self.credentials()
        return await asyncio.to_thread(
            TableAdmin.connect, self.options, silo_table(self.pool_table, tenant), self.projections, credentials
        )
