"""A cursor continues its own list, and is refused in every other list."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from keyfence.errors import BadInput
from keyfence.store.key_template import KeyTemplate
from tests.data.bookshop import (
    OPENING,
    book,
    book_with_chapters,
    books,
    books_of_shelf,
    chapter,
    chapters,
    newest_books,
    noted_books,
    oldest_books,
)
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.scripted_dynamodb import table


async def test_a_list_by_month_continues_from_any_day_of_the_month() -> None:
    stored = [book(f"b{day}", day, note="n") for day in range(5)]
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, *stored)
    page = await table(dynamodb).page(noted_books, first=3, created_at=OPENING)
    later, cursor = OPENING + timedelta(days=20), page.edges[-1].cursor()
    rest = await table(dynamodb).page(noted_books, first=3, after=cursor, created_at=later)
    assert [*page.items, *rest.items] == stored


async def test_a_cursor_of_one_list_is_refused_in_another() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, *(book(f"b{number}", number) for number in range(3)))
    dynamodb.store(books, *(book(f"b{number}", number) for number in range(3)), tenant="acmecorp")
    acme = table(dynamodb, "acme")
    cursor = (await acme.page(oldest_books, first=1)).edges[0].cursor()
    assert (await acme.page(oldest_books, first=1, after=cursor)).items[0].id == "b1"
    for other, pattern, values in (
        (table(dynamodb, "acmecorp"), oldest_books, {}),
        (acme, newest_books, {}),
        (acme, books_of_shelf, {"shelf": "s1"}),
    ):
        with pytest.raises(BadInput):
            await other.page(pattern, first=1, after=cursor, between=None, **values)


async def test_a_cursor_is_bound_to_the_arguments_of_its_list() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, book("b1"), book("b2", shelf="s2"))
    cursor = (await table(dynamodb).page(books_of_shelf, first=1, shelf="s1")).edges[0].cursor()
    assert not (await table(dynamodb).page(books_of_shelf, first=1, after=cursor, shelf="s1")).items
    with pytest.raises(BadInput):
        await table(dynamodb).page(books_of_shelf, first=1, after=cursor, shelf="s2")


@pytest.mark.parametrize("shelf", ["\ud800", "", "x" * 3000])
@pytest.mark.parametrize("after", [None, "cursor"])
async def test_an_argument_that_fits_no_key_is_bad_input(shelf: str, after: str | None) -> None:
    with pytest.raises(BadInput):
        await table(InMemoryDynamoDB()).page(books_of_shelf, first=1, after=after, shelf=shelf)


async def test_a_page_of_models_has_the_cursors_that_a_read_would_give() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, book("b1"), book("b2", 1))
    handle = table(dynamodb)
    page_read = await handle.page(oldest_books, first=2)
    page_of_models = handle.page_from_models(oldest_books, page_read.items, has_next=True, has_previous=False)
    assert [edge.cursor() for edge in page_of_models.edges] == [edge.cursor() for edge in page_read.edges]
    assert (page_of_models.has_next, page_of_models.has_previous) == (True, False)


async def test_the_children_of_an_item_collection_have_the_cursors_of_their_own_list() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, book("b1"))
    dynamodb.store(chapters, *(chapter(number) for number in (1, 2, 3)))
    handle = table(dynamodb)
    _, collection = await handle.item_collection(book_with_chapters, first=3, book_id="b1")
    children = await handle.page(book_with_chapters.children, first=3, book_id="b1")
    assert [edge.cursor() for edge in collection.edges] == [edge.cursor() for edge in children.edges]


async def test_a_cursor_renders_no_key_again_that_its_page_has_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, *(book(f"b{number}", number) for number in range(3)))
    page = await table(dynamodb).page(oldest_books, first=3)
    rendered_templates = list[str]()
    render = KeyTemplate.render

    def recording_render(template: KeyTemplate, values: Mapping[str, object]) -> str:
        rendered_templates.append(template.text)
        return render(template, values)

    monkeypatch.setattr(KeyTemplate, "render", recording_render)
    assert len({edge.cursor() for edge in page.edges}) == 3
    assert rendered_templates == [oldest_books.key.partition.text], (
        "the scope is rendered once for all cursors of a page"
    )
