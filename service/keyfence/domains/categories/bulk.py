"""Categories in lines."""

from collections.abc import Sequence

from keyfence.bulk.fields import Given, moment, names
from keyfence.bulk.record_kind import Kind, Line, Writer, line, new
from keyfence.domains.categories.access import categories, category_by_path
from keyfence.domains.categories.model import Category
from keyfence.domains.categories.repository import Closed, below_parent, closed_because
from keyfence.store.key_template import checked_path
from keyfence.store.table import Table
from keyfence.store.timestamps import instant
from keyfence.store.writes import Note


def read(given: Given) -> Category:
    given.only("type", "path", "createdAt", "updatedAt")
    created = given.take("createdAt", moment)
    return Category(
        path=given.take("path", lambda value: checked_path(names(value), "path")),
        created_at=created,
        updated_at=given.maybe("updatedAt", moment, created),
    )


def spell(category: Category) -> Line:
    return line(
        "category",
        path=list(category.path),
        createdAt=instant(category.created_at),
        updatedAt=instant(category.updated_at),
    )


async def find(table: Table, wanted: Sequence[Category]) -> list[Category | None]:
    return await table.find_many(category_by_path, [{"path": one.path} for one in wanted])


async def write(writer: Writer, category: Category) -> None:
    note = Note("category.imported", None, {"after": {"path": category.path}})
    try:
        await writer.write(new(categories, category), *below_parent(category.path), note=note)
    except Closed:
        raise await closed_because(writer.table, category.path, "path") from None


KIND = Kind(name="category", read=read, spell=spell, find=find, write=write, touches=lambda _: ["the tree"])
"""Parents come before their children, so categories are written one after the other."""
