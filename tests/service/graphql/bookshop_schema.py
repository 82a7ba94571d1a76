"""A small GraphQL schema for tests, with books and authors in pages, and with fields that fail."""

from datetime import datetime
from decimal import Decimal
from enum import Enum

import strawberry
from strawberry.scalars import JSON

from keyfence.errors import BadInput, Conflict, Forbidden, Internal, NotFound, Throttled

SECRET = "the password is swordfish"


@strawberry.enum
class Binding(Enum):
    PAPER = "paper"
    CLOTH = "cloth"


@strawberry.input
class BookInput:
    title: str
    binding: Binding = Binding.PAPER
    note: strawberry.Maybe[str] = None


@strawberry.type
class Tag:
    name: str


@strawberry.type
class PageInfo:
    has_next_page: bool
    end_cursor: str | None


@strawberry.type
class Author:
    name: str

    @strawberry.field
    async def books(self, first: int = 20, after: str | None = None) -> "BookConnection":
        return first_books(first)


@strawberry.type
class Book:
    id: strawberry.ID
    title: str

    @strawberry.field
    async def authors(self, first: int = 20, after: str | None = None) -> "AuthorConnection":
        return AuthorConnection(edges=[AuthorEdge(cursor="a", node=Author(name="Ada"))], page_info=NO_MORE)

    @strawberry.field
    async def tags(self) -> list[Tag]:
        return [Tag(name="old")]

    @strawberry.field
    async def tagged(self, first: int = 10) -> list[Tag]:
        return [Tag(name="old")]

    @strawberry.field
    async def sequel(self) -> "Book | None":
        return None


@strawberry.type
class BookEdge:
    cursor: str
    node: Book


@strawberry.type
class BookConnection:
    edges: list[BookEdge]
    page_info: PageInfo


@strawberry.type
class AuthorEdge:
    cursor: str
    node: Author


@strawberry.type
class AuthorConnection:
    edges: list[AuthorEdge]
    page_info: PageInfo


NO_MORE = PageInfo(has_next_page=False, end_cursor=None)
ERROR_BY_NAME: dict[str, Exception] = {
    "not found": NotFound("no such book"),
    "conflict": Conflict("the book is lent", version=3),
    "forbidden": Forbidden("not for you"),
    "throttled": Throttled("come again", retryAfterMs=50),
    "internal": Internal(SECRET),
    "unexpected": RuntimeError(SECRET),
}


def first_books(first: int) -> BookConnection:
    if not 1 <= first <= 100:
        raise BadInput("first must be from 1 to 100", field="first")
    books = [Book(id=strawberry.ID(f"b{number}"), title=f"Volume {number}") for number in range(min(first, 3))]
    return BookConnection(edges=[BookEdge(cursor=book.id, node=book) for book in books], page_info=NO_MORE)


@strawberry.type
class Query:
    @strawberry.field
    async def book(self, id: strawberry.ID) -> Book | None:
        return Book(id=id, title="Volume 1")

    @strawberry.field
    async def books(self, first: int = 20, after: str | None = None) -> BookConnection:
        return first_books(first)

    @strawberry.field
    async def caller(self, info: strawberry.Info) -> str:
        return str(info.context)

    @strawberry.field
    async def fail(self, how: str) -> str:
        raise ERROR_BY_NAME[how]

    @strawberry.field
    async def maybe_fail(self, how: str) -> str | None:
        raise ERROR_BY_NAME[how]

    @strawberry.field
    async def big(self) -> int:
        return 2**40

    @strawberry.field
    async def same(
        self,
        number: int | None = None,
        at: datetime | None = None,
        amount: Decimal | None = None,
        binding: Binding = Binding.PAPER,
        value: JSON | None = None,
    ) -> JSON | None:
        return value


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def add(self, book: BookInput) -> Book:
        return Book(id=strawberry.ID("b9"), title=book.title)


bookshop = strawberry.Schema(Query, Mutation)
