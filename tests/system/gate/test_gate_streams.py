"""Only the stream worker may read the stream of the table."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from keyfence.local import gate_access
from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import parse_tenant_id
from tests.stack import ServiceStack


def streams_client(stack: ServiceStack, credentials: Credentials) -> Any:
    """Returns a client without boto3's checks of parameters: dynoxide's shard ids are shorter than those of AWS."""
    return boto3.Session().client(
        "dynamodbstreams",
        region_name="us-east-1",
        endpoint_url=stack.gate.url,
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        aws_session_token=credentials.token,
        config=Config(parameter_validation=False, retries={"total_max_attempts": 1}),
    )


@pytest.fixture
def worker(stack: ServiceStack) -> Any:
    return streams_client(stack, gate_access.role_session(stack.gate.session_issuer, "stream-worker").credentials)


def test_the_worker_reads_the_writes_of_a_tenant(stack: ServiceStack, worker: Any) -> None:
    key = {"PK": {"S": "TENANT#acme#STREAMED"}, "SK": {"S": "S"}}
    stack.boto_client(parse_tenant_id("acme")).put_item(TableName=stack.settings.table, Item=key)
    arn = worker.list_streams(TableName=stack.settings.table)["Streams"][0]["StreamArn"]
    shards = worker.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    records = []
    for shard in shards:
        start = worker.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")[
            "ShardIterator"
        ]
        records += worker.get_records(ShardIterator=start)["Records"]
    assert key in [record["dynamodb"]["Keys"] for record in records]


def test_a_tenant_may_not_read_the_stream(stack: ServiceStack, worker: Any) -> None:
    tenant = streams_client(
        stack,
        gate_access.tenant_session(stack.gate.session_issuer, parse_tenant_id("acme"), may_write=True).credentials,
    )
    arn = worker.list_streams(TableName=stack.settings.table)["Streams"][0]["StreamArn"]
    shard = worker.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    position = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    worker_iterator = worker.get_shard_iterator(**position)["ShardIterator"]
    attempts: list[Callable[[], Any]] = [
        lambda: tenant.list_streams(TableName=stack.settings.table),
        lambda: tenant.describe_stream(StreamArn=arn),
        lambda: tenant.get_shard_iterator(**position),
        lambda: tenant.get_records(ShardIterator=worker_iterator),
        lambda: tenant.get_records(ShardIterator="invalid"),
    ]
    for attempt in attempts:
        with pytest.raises(ClientError) as error:
            attempt()
        assert error.value.response["Error"]["Code"] == "AccessDeniedException"


def test_a_stream_of_another_account_or_region_is_denied(stack: ServiceStack, worker: Any) -> None:
    arn = worker.list_streams(TableName=stack.settings.table)["Streams"][0]["StreamArn"]
    region, account = arn.split(":")[3:5]
    for foreign_arn in (arn.replace(account, "999999999999"), arn.replace(f":{region}:", ":eu-west-1:")):
        with pytest.raises(ClientError) as error:
            worker.describe_stream(StreamArn=foreign_arn)
        assert error.value.response["Error"]["Code"] == "AccessDeniedException"


def test_the_arn_of_a_table_in_another_account_lists_no_stream(stack: ServiceStack, worker: Any) -> None:
    arn = f"arn:aws:dynamodb:us-east-1:999999999999:table/{stack.settings.table}"
    assert worker.list_streams(TableName=arn)["Streams"] == []
