"""The note of a write is logged in the same transaction."""

from dataclasses import replace

from keyfence.store.writes import ActivityNote, Write, changed_fields, put
from tests.data.bookshop import Chapter, book, books, chapter, chapters
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.scripted_dynamodb import table


def log_as_chapter(note: ActivityNote) -> Write[Chapter]:
    return put(chapters, replace(chapter(1), text=f"{note.kind} {note.target}"))


async def test_a_note_and_its_write_are_one_transaction() -> None:
    dynamodb = InMemoryDynamoDB()
    await table(dynamodb, activity_log=log_as_chapter).write(
        put(books, book("b1")), note=ActivityNote("book.shelved", "b1")
    )
    (call,) = dynamodb.calls
    book_item, note_item = (action["Put"]["Item"] for action in call.parameters["TransactItems"])
    assert book_item["type"] == {"S": "Book"}
    assert note_item["text"] == {"S": "book.shelved b1"}


async def test_without_an_activity_log_or_a_note_there_is_only_the_write() -> None:
    dynamodb = InMemoryDynamoDB()
    await table(dynamodb).write(put(books, book("b1")), note=ActivityNote("book.shelved", "b1"))
    await table(dynamodb, activity_log=log_as_chapter).write(put(books, book("b1")))
    assert [len(call.parameters["TransactItems"]) for call in dynamodb.calls] == [1, 1]


def test_changed_fields_are_those_that_are_named_and_differ() -> None:
    before = book("b1", note="secret")
    after = replace(before, title="New", note="other secret", version=2)
    assert changed_fields(before, after, "title", "shelf") == {"before": {"title": "On b1"}, "after": {"title": "New"}}
    assert changed_fields(before, before, "title") == {}
