"""Import and export of categories."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

from keyfence.bulk.json_lines import Line, new_line
from keyfence.bulk.record_fields import Fields, parse_texts, parse_timestamp
from keyfence.bulk.record_kind import RecordKind, RecordWriter, put_new
from keyfence.domains.categories.access_patterns import categories, category_by_path, category_tree, last_move
from keyfence.domains.categories.model import Category, CategoryMove
from keyfence.domains.categories.repository import ParentUnavailable, parent_error, require_parent
from keyfence.errors import Conflict
from keyfence.store.key_template import KeyPath, checked_path
from keyfence.store.table import Table
from keyfence.store.timestamps import timestamp_text
from keyfence.store.writes import ActivityNote


def from_fields(fields: Fields) -> Category:
    fields.allow_only("type", "path", "createdAt", "updatedAt")
    created_at = fields.required("createdAt", parse_timestamp)
    return Category(
        path=fields.required("path", lambda value: checked_path(parse_texts(value), "path")),
        created_at=created_at,
        updated_at=fields.optional("updatedAt", parse_timestamp, created_at),
    )


def to_line(category: Category) -> Line:
    return new_line(
        "category",
        path=list(category.path),
        createdAt=timestamp_text(category.created_at),
        updatedAt=timestamp_text(category.updated_at),
    )


async def load(table: Table, paths: Sequence[KeyPath]) -> list[Category | None]:
    return await table.find_many(category_by_path, [{"path": path} for path in paths])


def load_all(table: Table) -> AsyncIterator[Category]:
    return table.iterate(category_tree)


async def write(writer: RecordWriter, category: Category) -> None:
    note = ActivityNote("category.imported", None, {"after": {"path": category.path}})
    try:
        await writer.write(put_new(categories, category), *require_parent(category.path), note=note)
    except ParentUnavailable:
        raise await parent_error(writer.table, category.path, "path") from None


def _parent_reference(category: Category) -> Iterator[tuple[str, KeyPath]]:
    if category.depth > 1:
        yield "category", category.path[:-1]


@asynccontextmanager
async def _require_no_move(table: Table) -> AsyncIterator[None]:
    """Raises Conflict if a category is moved during the `with` block. An export of all categories would then miss some
    of them, or contain some twice."""
    move_before = await _finished_move(table)
    yield
    if await _finished_move(table) != move_before:
        raise Conflict("a category was moved during the export; export again")


async def _finished_move(table: Table) -> CategoryMove | None:
    """Returns the latest move. Raises Conflict if it is still under way."""
    move = await table.find(last_move)
    if move and move.is_under_way:
        raise Conflict("a category is being moved; export again when the move has finished")
    return move


RECORD_KIND = RecordKind(
    name="category",
    plural="categories",
    from_fields=from_fields,
    to_line=to_line,
    key=lambda category: category.path,
    load=load,
    load_all=load_all,
    write=write,
    lock_keys=lambda _: ["the tree"],  # a child is written after its parent, so categories are written one by one
    references=_parent_reference,
    export_guard=_require_no_move,
)
