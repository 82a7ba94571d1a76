"""A document is parsed once, and the cache is bounded."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from keyfence.errors import BadInput
from keyfence.graphql import document_cache as module
from keyfence.graphql.document_cache import DocumentCache
from keyfence.graphql.error_masking import InvalidRequest
from keyfence.graphql.query_limits import QueryLimits
from tests.service.graphql.bookshop_schema import bookshop

LIST = "{ books { edges { node { title } } } }"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counts: Counter[str] = Counter()

    def counting(name: str) -> Callable[..., Any]:
        real = getattr(module, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return real(*args, **kwargs)

        return call

    for name in ("parse", "check_document", "validate", "cost_of_operation"):
        monkeypatch.setattr(module, name, counting(name))
    return counts


def documents(**kwargs: Any) -> DocumentCache:
    return DocumentCache(bookshop._schema, limits=QueryLimits(), **kwargs)


def test_a_text_is_parsed_checked_and_validated_once(counted: Counter[str]) -> None:
    known = documents()
    assert known.get(LIST) is known.get(LIST)
    assert counted == {"parse": 1, "check_document": 1, "validate": 1, "cost_of_operation": 1}


def test_an_invalid_text_is_validated_once_and_raises_each_time(counted: Counter[str]) -> None:
    known = documents()
    errors = []
    for _ in range(2):
        with pytest.raises(InvalidRequest) as refused:
            known.get("{ nothing }")
        errors.append(refused.value.errors)
    assert errors[0] == errors[1]
    assert counted["validate"] == 1


def test_many_different_texts_do_not_exceed_the_capacity() -> None:
    known = documents(capacity=10_000)
    for number in range(500):
        known.get(f"{{ n{number}: __typename }}")
    assert 10_000 // 300 <= len(known) <= 10_000 // 256


def test_many_invalid_texts_do_not_exceed_the_capacity() -> None:
    known = documents(capacity=10_000)
    for number in range(500):
        with pytest.raises(InvalidRequest):
            known.get(f"{{ n{number}")
    assert len(known) <= 10_000 // 256


def test_the_text_used_last_stays_in_the_cache(counted: Counter[str]) -> None:
    known = documents(capacity=2_000)
    for number in range(50):
        known.get(LIST)
        known.get(f"{{ n{number}: __typename }}")
    assert counted["parse"] == 51


def test_a_text_over_the_limit_is_not_cached() -> None:
    known = documents()
    with pytest.raises(InvalidRequest):
        known.get("{ __typename }".ljust(QueryLimits().document + 1))
    assert len(known) == 0


def test_a_text_larger_than_the_capacity_is_not_cached() -> None:
    known = documents(capacity=100)
    known.get(LIST)
    assert len(known) == 0


@pytest.mark.parametrize("name", ["A", "B"])
def test_an_operation_is_found_by_its_name(name: str) -> None:
    document = documents().get("query A { __typename } query B { __typename }")
    assert document.get_operation(name).name == name


@pytest.mark.parametrize("name", ["C", "", None])
def test_several_operations_need_the_name_of_one(name: str | None) -> None:
    document = documents().get("query A { __typename } query B { __typename }")
    with pytest.raises(BadInput):
        document.get_operation(name)


@pytest.mark.parametrize(
    "text",
    [
        "{ bok(id: 1) { id } }",
        "{ book(idd: 1) { id } }",
        "{ book(id: 1) { titel } }",
        "{ ... on Bok { id } }",
        "query ($b: BookInpt) { __typename }",
        "{ same(binding: CLOT) }",
        'mutation { add(book: {titel: "x"}) { id } }',
        "{ __typename @inclde(if: true) }",
    ],
)
def test_a_misspelt_name_gets_no_suggestion(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        documents().get(text)
    assert "mean" not in str(refused.value.errors)


@pytest.mark.parametrize(
    "text", ["", " ", "{", "{}}", "query", "\ufeff", "\x00", "fragment F on Query { caller }", "type A"]
)
def test_a_text_that_is_not_graphql_is_bad_input(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        documents().get(text)
    assert all(error["extensions"] == {"code": "BAD_USER_INPUT"} for error in refused.value.errors)
