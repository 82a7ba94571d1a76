"""CreateTable definition, `TableAdmin`, silo tables."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from keyfence.errors import KeyfenceError
from keyfence.store.dynamodb.caller import CredentialSource
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.entities import Projections
from keyfence.store.entity import INDEXES, Index, key_names
from keyfence_iam.boto_session import boto_session_with, client_config
from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import silo_table
from keyfence_iam.tenant import TenantId

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


AWS_ERRORS = (ClientError, BotoCoreError)
"""What boto3 raises when AWS cannot be reached or says no."""


class TableDiffers(KeyfenceError):
    """A table that another version made, or nobody yet; the message has a line for each difference."""


def definition(table: str, projections: Projections) -> dict[str, Any]:
    """The parameters of CreateTable."""
    names = [name for index in ("table", *INDEXES) for name in key_names(index)]
    return {
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in names],
        "KeySchema": _key_schema("table"),
        "GlobalSecondaryIndexes": [_index(index, projections.get(index, ())) for index in INDEXES],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def _index(index: Index, attributes: Sequence[str]) -> dict[str, Any]:
    included = {"ProjectionType": "INCLUDE", "NonKeyAttributes": sorted(attributes)}
    projection = included if attributes else {"ProjectionType": "KEYS_ONLY"}
    return {"IndexName": index.upper(), "KeySchema": _key_schema(index), "Projection": projection}


def _key_schema(index: Index) -> list[dict[str, str]]:
    names = key_names(index)
    return [
        {"AttributeName": names.partition, "KeyType": "HASH"},
        {"AttributeName": names.sort, "KeyType": "RANGE"},
    ]


@dataclass(frozen=True, slots=True)
class TableAdmin:
    """The few control-plane calls that make and inspect the table, on the caller's own credentials."""

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
        """On the given credentials, or on those that boto3's own chain finds."""
        config = client_config(
            options.endpoint_url,
            connect_timeout=5,
            read_timeout=30,
            retries={"mode": "standard", "total_max_attempts": 5},
        )
        session = boto_session_with(credentials) if credentials else boto3.Session()
        client = session.client(
            "dynamodb", region_name=options.region, endpoint_url=options.endpoint_url, config=config
        )
        return cls(client, table, projections)

    def create(self) -> bool:
        """Create what is missing and wait until it can be used; False when the table was there already."""
        try:
            self.client.create_table(**definition(self.table, self.projections))
        except ClientError as refusal:
            if refusal.response["Error"]["Code"] != "ResourceInUseException":
                raise
            created = False
        else:
            created = True
        self.client.get_waiter("table_exists").wait(TableName=self.table, WaiterConfig={"Delay": 1, "MaxAttempts": 120})
        self._expire()
        self._recover()
        return created

    def drop(self) -> None:
        """And wait until it is gone; a table that is not there is gone."""
        try:
            self.client.delete_table(TableName=self.table)
        except self.client.exceptions.ResourceNotFoundException:
            return
        waiter = self.client.get_waiter("table_not_exists")
        waiter.wait(TableName=self.table, WaiterConfig={"Delay": 1, "MaxAttempts": 120})

    def check(self) -> None:
        if problems := self.differences():
            raise TableDiffers("\n".join((f"The table {self.table} differs:", *(f"  {one}" for one in problems))))

    def differences(self) -> list[str]:
        """Where the existing table is not what the definition says, each in a sentence; empty when it is right."""
        try:
            found = self.client.describe_table(TableName=self.table)["Table"]
        except self.client.exceptions.ResourceNotFoundException:
            return ["it does not exist"]
        wanted = definition(self.table, self.projections)
        present = {index["IndexName"]: index for index in found.get("GlobalSecondaryIndexes", [])}
        problems = [] if _same_keys(found, wanted) else ["the table's key schema differs"]
        for index in wanted["GlobalSecondaryIndexes"]:
            problems += _index_differences(index, present.get(index["IndexName"]))
        if not found.get("StreamSpecification", {}).get("StreamEnabled"):
            problems.append("the table has no stream")
        return problems + self._ttl_differences()

    def _expire(self) -> None:
        if self._ttl_differences():
            specification: Any = {"Enabled": True, "AttributeName": "ttl"}
            self.client.update_time_to_live(TableName=self.table, TimeToLiveSpecification=specification)

    def _recover(self) -> None:
        """Switch point-in-time recovery on, where there is such a thing: local engines need not know it."""
        try:
            self._enable_recovery()
        except ClientError as refusal:
            if refusal.response["Error"]["Code"] != "UnknownOperationException":
                raise

    def _enable_recovery(self) -> None:
        status = self.client.describe_continuous_backups(TableName=self.table)["ContinuousBackupsDescription"]
        if status.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") != "ENABLED":
            self.client.update_continuous_backups(
                TableName=self.table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            )

    def _ttl_differences(self) -> list[str]:
        found = self.client.describe_time_to_live(TableName=self.table)["TimeToLiveDescription"]
        enabled = found.get("TimeToLiveStatus") in {"ENABLED", "ENABLING"} and found.get("AttributeName") == "ttl"
        return [] if enabled else ["time to live is not enabled on the attribute ttl"]


def _same_keys(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return bool(found["KeySchema"] == wanted["KeySchema"])


def _index_differences(wanted: Mapping[str, Any], found: Mapping[str, Any] | None) -> list[str]:
    name = wanted["IndexName"]
    if found is None:
        return [f"the index {name} is missing"]
    problems = [] if _same_keys(found, wanted) else [f"the key schema of {name} differs"]
    projected = set(found.get("Projection", {}).get("NonKeyAttributes", []))
    if found.get("Projection", {}).get("ProjectionType") != "ALL" and (
        missing := set(wanted["Projection"].get("NonKeyAttributes", [])) - projected
    ):
        problems.append(f"the index {name} does not carry {', '.join(sorted(missing))}")
    return problems


@dataclass(frozen=True, slots=True)
class SiloTables:
    """Made and removed by whoever these credentials are; each is defined as the pool is."""

    options: ConnectionOptions
    pool: str
    projections: Projections
    credentials: CredentialSource

    async def create(self, tenant: TenantId) -> None:
        """Called again, it makes sure of what is there."""
        administration = await self._of(tenant)
        await asyncio.to_thread(administration.create)
        await asyncio.to_thread(administration.check)

    async def drop(self, tenant: TenantId) -> None:
        await asyncio.to_thread((await self._of(tenant)).drop)

    async def _of(self, tenant: TenantId) -> TableAdmin:
        credentials = await self.credentials()
        return await asyncio.to_thread(
            TableAdmin.connect, self.options, silo_table(self.pool, tenant), self.projections, credentials
        )
