"""moto answers like DynamoDB while it runs, and prints nothing."""

import sys
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from ulid import ULID

from keyfence.local.engines import moto
from keyfence.local.engines.engine import EngineMissing
from tests.service.local.conftest import quiet
from tests.service.local.engine_tables import client, create_table, tables

pytestmark = pytest.mark.engine


def test_it_answers_on_localhost_until_it_is_stopped(capfd: pytest.CaptureFixture[str]) -> None:
    engine = moto.start(quiet)
    table = str(ULID())
    try:
        create_table(engine.url, table)
        assert table in tables(engine.url)
        assert engine.url.startswith("http://127.0.0.1:")
        assert (engine.name, engine.is_persistent, engine.failure()) == ("moto", False, None)
    finally:
        engine.stop()
    with pytest.raises(EndpointConnectionError):
        tables(engine.url)
    assert capfd.readouterr() == ("", "")


def test_its_arns_have_the_local_account() -> None:
    engine = moto.start(quiet)
    table = str(ULID())
    try:
        create_table(engine.url, table)
        arn = client(engine.url).describe_table(TableName=table)["Table"]["TableArn"]
        assert arn == f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}"
    finally:
        engine.stop()


def test_without_moto_the_error_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("moto.server", "moto.moto_server.werkzeug_app"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(EngineMissing, match=r"install keyfence\[local\]"):
        moto.start(quiet)


def test_a_failed_transaction_writes_nothing_and_a_successful_one_everything() -> None:
    engine = moto.start(quiet)
    table = str(ULID())
    try:
        create_table(engine.url, table)
        dynamodb = client(engine.url)
        dynamodb.put_item(TableName=table, Item=item("old", n="1"))
        with pytest.raises(dynamodb.exceptions.TransactionCanceledException):
            dynamodb.transact_write_items(TransactItems=transaction(table, guard="attribute_not_exists(PK)"))
        assert rows(dynamodb, table) == {"old": "1"}
        dynamodb.transact_write_items(TransactItems=transaction(table, guard="attribute_exists(PK)"))
        assert rows(dynamodb, table) == {"old": "2", "new": "1"}
    finally:
        engine.stop()


def transaction(table: str, guard: str) -> list[Any]:
    """Returns a put and a conditional update; the condition decides about both."""
    return [
        {"Put": {"TableName": table, "Item": item("new", n="1")}},
        {
            "Update": {
                "TableName": table,
                "Key": item("old"),
                "UpdateExpression": "SET n = :n",
                "ExpressionAttributeValues": {":n": {"S": "2"}},
                "ConditionExpression": guard,
            }
        },
    ]


def item(name: str, **attributes: str) -> dict[str, Any]:
    return {"PK": {"S": name}, "SK": {"S": name}, **{key: {"S": value} for key, value in attributes.items()}}


def rows(dynamodb: Any, table: str) -> dict[str, str]:
    return {row["PK"]["S"]: row["n"]["S"] for row in dynamodb.scan(TableName=table)["Items"]}
