"""Categories in lines."""

from collections.abc import Sequence

from keyfence.bulk.fields import Fields, names, timestamp
from keyfence.bulk.record_kind import Line, RecordKind, RecordWriter, put_new, record_line
from keyfence.domains.categories.access_patterns import categories, category_by_path
from keyfence.domains.categories.model import Category
from keyfence.domains.categories.repository import ParentUnavailable, closed_because, require_parent
from keyfence.store.key_template import checked_path
from keyfence.store.table import Table
from keyfence.store.timestamps import timestamp_text
from keyfence.store.writes import ActivityNote


def read(given: Fields) -> Category:
    given.allow_only("type", "path", "createdAt", "updatedAt")
    created = given.take("createdAt", timestamp)
    return Category(
        path=given.take("path", lambda value: checked_path(names(value), "path")),
        created_at=created,
        updated_at=given.maybe("updatedAt", timestamp, created),
    )


def spell(category: Category) -> Line:
    return record_line(
        "category",
        path=list(category.path),
        createdAt=timestamp_text(category.created_at),
        updatedAt=timestamp_text(category.updated_at),
    )


async def find(table: Table, wanted: Sequence[Category]) -> list[Category | None]:
    return await table.find_many(category_by_path, [{"path": one.path} for one in wanted])


async def write(writer: RecordWriter, category: Category) -> None:
    note = ActivityNote("category.imported", None, {"after": {"path": category.path}})
    try:
        await writer.write(put_new(categories, category), *require_parent(category.path), note=note)
    except ParentUnavailable:
        raise await closed_because(writer.table, category.path, "path") from None


RECORDS = RecordKind(name="category", read=read, spell=spell, find=find, write=write, touches=lambda _: ["the tree"])
"""Parents come before their children, so categories are written one after the other."""
