"""A document is parsed once, and the cache is bounded."""

from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest

from keyfence.errors import BadInput
from keyfence.graphql import document_cache as document_cache_module
from keyfence.graphql.document_cache import VALIDATION_RULES, VALIDATION_STEPS, DocumentCache
from keyfence.graphql.error_masking import InvalidRequest
from keyfence.graphql.query_limits import QueryLimits
from tests.service.graphql.bookshop_schema import bookshop

LIST = "{ books { edges { node { title } } } }"


@pytest.fixture
def call_counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the cache has called each function for a document."""
    counts: Counter[str] = Counter()

    def counting_function(name: str) -> Callable[..., Any]:
        original = getattr(document_cache_module, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return original(*args, **kwargs)

        return call

    for name in ("parse", "check_document", "validate", "cost_of_operation"):
        monkeypatch.setattr(document_cache_module, name, counting_function(name))
    return counts


def document_cache(**kwargs: Any) -> DocumentCache:
    return DocumentCache(bookshop._schema, limits=QueryLimits(), **kwargs)


def test_a_text_is_parsed_checked_and_validated_once(call_counts: Counter[str]) -> None:
    cache = document_cache()
    assert cache.get(LIST) is cache.get(LIST)
    assert call_counts == {"parse": 1, "check_document": 1, "validate": len(VALIDATION_STEPS), "cost_of_operation": 1}


@pytest.mark.parametrize("text", [LIST, "{ nothing }", "{"])
def test_a_text_read_in_steps_gives_the_same_as_a_text_read_at_once(text: str, call_counts: Counter[str]) -> None:
    cache = document_cache()
    for _ in cache.parse_in_steps(text):
        assert sum(call_counts.values()) == 1, "each step makes one call"
        call_counts.clear()
    assert text in cache
    assert _result(cache, text) == _result(document_cache(), text)


def test_reading_in_steps_stops_early_if_another_request_has_read_the_text(call_counts: Counter[str]) -> None:
    cache = document_cache()
    cache.get(LIST)
    call_counts.clear()
    assert list(cache.parse_in_steps(LIST)) == []
    assert not call_counts


def test_every_validation_rule_belongs_to_one_step() -> None:
    assert Counter(chain(*VALIDATION_STEPS)) == Counter(VALIDATION_RULES)


def _result(cache: DocumentCache, text: str) -> object:
    try:
        return cache.get(text).operations
    except InvalidRequest as error:
        return error.errors


def test_an_invalid_text_is_validated_once_and_raises_each_time(call_counts: Counter[str]) -> None:
    cache = document_cache()
    errors = []
    for _ in range(2):
        with pytest.raises(InvalidRequest) as refusal:
            cache.get("{ nothing }")
        errors.append(refusal.value.errors)
    assert errors[0] == errors[1]
    assert call_counts["validate"] == 1


def test_many_different_texts_do_not_exceed_the_capacity() -> None:
    cache = document_cache(capacity=10_000)
    for number in range(500):
        cache.get(f"{{ n{number}: __typename }}")
    assert 10_000 // 300 <= len(cache) <= 10_000 // 256


def test_many_invalid_texts_do_not_exceed_the_capacity() -> None:
    cache = document_cache(capacity=10_000)
    for number in range(500):
        with pytest.raises(InvalidRequest):
            cache.get(f"{{ n{number}")
    assert len(cache) <= 10_000 // 256


def test_the_text_used_last_stays_in_the_cache(call_counts: Counter[str]) -> None:
    cache = document_cache(capacity=2_000)
    for number in range(50):
        cache.get(LIST)
        cache.get(f"{{ n{number}: __typename }}")
    assert call_counts["parse"] == 51


def test_a_text_over_the_limit_is_not_cached() -> None:
    cache = document_cache()
    with pytest.raises(InvalidRequest):
        cache.get("{ __typename }".ljust(QueryLimits().document + 1))
    assert len(cache) == 0


def test_a_text_larger_than_the_capacity_is_not_cached() -> None:
    cache = document_cache(capacity=100)
    cache.get(LIST)
    assert len(cache) == 0


@pytest.mark.parametrize("name", ["A", "B"])
def test_an_operation_is_found_by_its_name(name: str) -> None:
    document = document_cache().get("query A { __typename } query B { __typename }")
    assert document.get_operation(name).name == name


@pytest.mark.parametrize("name", ["C", "", None])
def test_several_operations_need_the_name_of_one(name: str | None) -> None:
    document = document_cache().get("query A { __typename } query B { __typename }")
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
    with pytest.raises(InvalidRequest) as refusal:
        document_cache().get(text)
    assert "mean" not in str(refusal.value.errors)


@pytest.mark.parametrize(
    "text", ["", " ", "{", "{}}", "query", "\ufeff", "\x00", "fragment F on Query { caller }", "type A"]
)
def test_a_text_that_is_not_graphql_is_bad_input(text: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        document_cache().get(text)
    assert all(error["extensions"] == {"code": "BAD_USER_INPUT"} for error in refusal.value.errors)
