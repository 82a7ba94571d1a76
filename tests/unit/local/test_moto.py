"""moto answers like DynamoDB for as long as it runs, and quietly."""

import sys

import pytest
from botocore.exceptions import EndpointConnectionError
from ulid import ULID

from service.local import moto
from service.local.engine import EngineMissing

from .conftest import quiet
from .dynamodb import client, create_table, tables

pytestmark = pytest.mark.engine


def test_it_answers_on_this_machine_only_until_it_is_stopped(capfd: pytest.CaptureFixture[str]) -> None:
    engine = moto.start(quiet)
    table = str(ULID())
    try:
        create_table(engine.url, table)
        assert table in tables(engine.url)
        assert engine.url.startswith("http://127.0.0.1:")
        assert (engine.name, engine.persistent, engine.failure()) == ("moto", False, None)
    finally:
        engine.stop()
    with pytest.raises(EndpointConnectionError):
        tables(engine.url)
    assert capfd.readouterr() == ("", "")


def test_its_account_is_the_local_one() -> None:
    engine = moto.start(quiet)
    table = str(ULID())
    try:
        create_table(engine.url, table)
        arn = client(engine.url).describe_table(TableName=table)["Table"]["TableArn"]
        assert arn == f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}"
    finally:
        engine.stop()


def test_without_moto_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "moto.server", None)
    with pytest.raises(EngineMissing, match=r"install keyfence\[local\]"):
        moto.start(quiet)
