"""A boto3 client and one table, to see whether an engine works."""

from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import StreamSpecificationTypeDef

STREAM: "StreamSpecificationTypeDef" = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}


def client(url: str) -> "DynamoDBClient":
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(retries={"total_max_attempts": 1}, connect_timeout=2),
    )


def create_table(url: str, name: str, *, stream: bool = False) -> None:
    client(url).create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        if stream
        else {"StreamEnabled": False},
    )


def tables(url: str) -> list[str]:
    return client(url).list_tables()["TableNames"]
