"""A small domain with every kind of key, for the tests of the store."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from keyfence.store.entity import ItemCollection, entity
from keyfence.store.keys import ControlKey, TenantKey
from keyfence.store.shards import Sharding

OPENING = datetime(2026, 11, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A book: on a shelf, in the list of unsold books, and in the list of books with a note."""

    id: str
    shelf: str
    title: str
    created_at: datetime
    updated_at: datetime
    version: int = 1
    note: str | None = None
    sold_at: datetime | None = None
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A chapter, in the partition of its book."""

    book_id: str
    number: int
    text: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A visit, in the list of its day and in the visitor's list of its month."""

    id: str
    visitor: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """One part of a sum. Each writer adds to one part."""

    name: str
    part: str
    created_at: datetime
    updated_at: datetime
    total: int = 0
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A node of a tree."""

    path: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """An item of the control plane."""

    id: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


def unsold(book: Book) -> bool:
    return book.sold_at is None


books = entity(
    Book,
    table=TenantKey("BOOK#{id}", "METADATA"),
    gsi1=TenantKey("SHELF#{shelf}", "{title}#{id}"),
    gsi2=TenantKey("BOOKS", "{created_at}#{id}", sharding=Sharding("books", hashed_field="id"), when=unsold),
    gsi3=TenantKey("NOTED#{created_at:month}", "{note}#{id}"),
)
chapters = entity(Chapter, table=TenantKey("BOOK#{book_id}", "CHAPTER#{number:03d}"))
visits = entity(
    Visit,
    table=TenantKey("VISITS#{created_at:day}", "{created_at}#{id}", sharding=Sharding("visits", hashed_field="id")),
    gsi1=TenantKey("VISITOR#{visitor}#{created_at:month}", "{created_at}#{id}"),
)
counts = entity(Count, table=TenantKey("COUNT#{name}", "METADATA", sharding=Sharding("counts", hashed_field="part")))
sections = entity(Section, table=TenantKey("SECTIONS", "PATH#{path:path}"))
branches = entity(Branch, table=ControlKey("BRANCH#{id}", "METADATA"))

book_by_id = books.get()
books_of_shelf = books.query("gsi1")
oldest_books = books.query("gsi2")
newest_books = books.query("gsi2", newest_first=True)
noted_books = books.query("gsi3")
chapter_by_number = chapters.get()
latest_visits = visits.query("table", newest_first=True, range_field="created_at")
visits_of = visits.query("gsi1", newest_first=True, range_field="created_at")
count_by_name = counts.get()
subtree = sections.query("table", begins_with="PATH#", range_field="path")
chapters_of_book = chapters.query("table", begins_with="CHAPTER#")
numbered_chapters = chapters.query("table", begins_with="CHAPTER#", range_field="number")
books_of_days = books.query("gsi2", range_field="created_at")
book_with_chapters = ItemCollection(books, chapters.query("table", begins_with="CHAPTER#", newest_first=True))


def book(id: str, day: int = 0, **attributes: Any) -> Book:
    at = OPENING + timedelta(days=day)
    return Book(**{"id": id, "shelf": "s1", "title": f"On {id}", "created_at": at, "updated_at": at, **attributes})


def chapter(number: int, book_id: str = "b1") -> Chapter:
    return Chapter(book_id=book_id, number=number, text=f"({number})", created_at=OPENING, updated_at=OPENING)
