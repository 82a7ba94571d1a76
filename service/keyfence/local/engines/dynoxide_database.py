"""Maintenance of dynoxide's SQLite database: an index that keeps writes fast, and the deletion of old records."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

RETENTION_SECONDS = 24 * 60 * 60
"""DynamoDB keeps the records of a stream for 24 hours. dynoxide never deletes them."""

LOCK_WAIT_SECONDS = 10.0
"""How long to wait while the engine itself writes to the database."""

_CREATE_INDEX = """CREATE INDEX IF NOT EXISTS keyfence_stream_position
    ON _stream_records (table_name, CAST(sequence_number AS INTEGER))"""
_DELETE_OLD_RECORDS = """DELETE FROM _stream_records
    WHERE created_at < ? AND id NOT IN (SELECT MAX(id) FROM _stream_records GROUP BY table_name)"""


def maintain_stream_records(database: Path) -> None:
    """Adds an index to the stream records of a running engine, and deletes the records that have expired.

    For every write to a table with a stream, dynoxide searches for the highest sequence number of the table. Without
    the index it reads all records: after 30,000 writes, a write takes ten times as long. The last record of each
    table is kept, because the next sequence number is counted from it."""
    with closing(sqlite3.connect(database, timeout=LOCK_WAIT_SECONDS)) as connection, connection:
        connection.execute(_CREATE_INDEX)
        connection.execute(_DELETE_OLD_RECORDS, (int(time.time()) - RETENTION_SECONDS,))
