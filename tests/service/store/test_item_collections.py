"""One Query reads a parent and its children, and no other items."""

import pytest

from keyfence.store.entity import BadEntity, ItemCollection, entity
from keyfence.store.keys import TenantKey
from tests.data.bookshop import Book, book, book_with_chapters, books, chapter, chapters, chapters_of_book
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.scripted_dynamodb import table


@pytest.mark.parametrize(
    ("chapter_count", "first", "has_next"), [(0, 2, False), (2, 2, False), (3, 2, True), (9, 2, True)]
)
async def test_a_parent_comes_with_the_first_page_of_its_children(
    chapter_count: int, first: int, has_next: bool
) -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, book("b1"), book("b10"))
    dynamodb.store(chapters, *(chapter(number) for number in range(1, chapter_count + 1)), chapter(7, "b10"))
    parent, page = await table(dynamodb).item_collection(book_with_chapters, first=first, id="b1", book_id="b1")
    assert parent == book("b1")
    assert [one.number for one in page.items] == list(range(chapter_count, 0, -1))[:first]
    assert page.has_next == has_next
    assert [call.operation for call in dynamodb.calls] == ["Query"]


async def test_the_list_of_children_continues_after_the_item_collection() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, book("b1"))
    dynamodb.store(chapters, *(chapter(number) for number in (1, 2, 3)))
    handle = table(dynamodb)
    _, page = await handle.item_collection(book_with_chapters, first=2, book_id="b1")
    children = book_with_chapters.children
    next_page = await handle.page(children, first=2, after=page.edges[-1].cursor(), book_id="b1")
    assert ([one.number for one in next_page.items], next_page.has_next) == ([1], False)


async def test_children_are_returned_even_if_their_parent_does_not_exist() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(chapters, chapter(1), chapter(2))
    parent, page = await table(dynamodb).item_collection(book_with_chapters, first=5, book_id="b1")
    assert parent is None
    assert len(page.items) == 2


def test_the_parent_must_come_first_in_the_order_of_its_children() -> None:
    with pytest.raises(BadEntity, match="does not come first"):
        ItemCollection(books, chapters_of_book)


def test_parent_and_children_must_be_in_one_partition() -> None:
    other_partition = entity(Book, table=TenantKey("VOLUME#{id}", "METADATA"))
    with pytest.raises(BadEntity, match="not stored in one partition"):
        ItemCollection(other_partition, book_with_chapters.children)
