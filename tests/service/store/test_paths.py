"""A range of keys has exactly the paths of one subtree, without its siblings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.store.key_template import BadTemplate, KeyTemplate
from keyfence.store.keys import TenantKey, ValueRange
from tests.data.bookshop import OPENING, Section, sections, subtree
from tests.data.model_strategies import TEXT
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.scripted_dynamodb import table

NAMES = st.lists(TEXT.filter(bool), min_size=1, max_size=4).map(tuple)


def section(*path: str) -> Section:
    return Section(path=path, created_at=OPENING, updated_at=OPENING)


async def test_a_subtree_is_one_query_without_the_siblings_that_share_its_letters() -> None:
    dynamodb = InMemoryDynamoDB()
    subtree_sections = [
        section("audio"),
        section("audio", "a#b"),
        section("audio", "books"),
        section("audio", "books", "100 %"),
    ]
    dynamodb.store(
        sections, *subtree_sections, section("audiobooks"), section("audio!"), section("audi"), section("audio$")
    )
    page = await table(dynamodb).page(subtree, first=50, between=ValueRange(low=("audio",), high=("audio",)))
    assert {one.path for one in page.items} == {one.path for one in subtree_sections}
    assert [call.operation for call in dynamodb.calls] == ["Query"]


@given(NAMES, NAMES)
def test_a_path_is_in_the_range_of_another_exactly_if_it_begins_with_it(
    path: tuple[str, ...], root: tuple[str, ...]
) -> None:
    subtree_range = subtree.sort_key_range(ValueRange(low=root, high=root))
    text = KeyTemplate.parse("PATH#{path:path}").render({"path": path})
    assert (subtree_range.low.encode() <= text.encode() <= subtree_range.high.encode()) == (path[: len(root)] == root)


def test_nothing_may_follow_a_path_in_a_template() -> None:
    with pytest.raises(BadTemplate, match="continues after a path"):
        TenantKey("SECTIONS", "PATH#{path:path}#{id}")


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(TypeError):
        KeyTemplate.parse("PATH#{path:path}").render({"path": ()})
