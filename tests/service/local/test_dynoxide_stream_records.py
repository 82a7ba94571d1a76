"""Writes to a table with a stream do not become slower with the number of records in the stream."""

import sqlite3
from contextlib import closing
from pathlib import Path

from keyfence.local.engines.dynoxide import DATABASE_FILE, STREAM_RETENTION_SECONDS, Dynoxide
from tests.service.local.conftest import Start
from tests.service.local.engine_tables import client, create_table

NEXT_SEQUENCE_NUMBER = """SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1
    FROM _stream_records WHERE table_name = 'orders'"""
"""The query that dynoxide makes for every write."""


def put(engine: Dynoxide, table: str, count: int) -> None:
    for number in range(count):
        client(engine.url).put_item(TableName=table, Item={"PK": {"S": str(number)}})


def rows(directory: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(directory / DATABASE_FILE)) as connection, connection:
        return connection.execute(statement).fetchall()


def test_the_next_sequence_number_is_found_by_an_index(engine: Dynoxide, tmp_path: Path) -> None:
    ((*_, plan),) = rows(tmp_path, f"EXPLAIN QUERY PLAN {NEXT_SEQUENCE_NUMBER}")
    assert str(plan).startswith("SEARCH _stream_records USING INDEX")


def test_expired_stream_records_are_deleted_at_the_start(engine: Dynoxide, start: Start, tmp_path: Path) -> None:
    create_table(engine.url, "orders", stream=True)
    put(engine, "orders", 3)
    engine.stop()
    rows(tmp_path, f"UPDATE _stream_records SET created_at = created_at - {STREAM_RETENTION_SECONDS + 60}")
    put(start(tmp_path), "orders", 2)
    assert rows(tmp_path, "SELECT sequence_number FROM _stream_records ORDER BY id") == [("3",), ("4",), ("5",)]


def test_younger_stream_records_are_kept(engine: Dynoxide, start: Start, tmp_path: Path) -> None:
    create_table(engine.url, "orders", stream=True)
    put(engine, "orders", 3)
    engine.stop()
    rows(tmp_path, f"UPDATE _stream_records SET created_at = created_at - {STREAM_RETENTION_SECONDS - 600}")
    start(tmp_path)
    assert rows(tmp_path, "SELECT count(*) FROM _stream_records") == [(3,)]
