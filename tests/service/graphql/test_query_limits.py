"""A document at a limit passes, and one above it does not."""

import pytest
from graphql import get_introspection_query, parse

from keyfence.errors import BadInput
from keyfence.graphql.document_cache import DocumentCache
from keyfence.graphql.error_masking import InvalidRequest
from keyfence.graphql.query_limits import QueryLimits, check_document, check_text, check_variables
from tests.service.graphql.bookshop_schema import bookshop

LIMITS = QueryLimits()


def chain(levels: int) -> str:
    return "{ " + "a { " * (levels - 1) + "z" + " }" * levels


def fragment_chain(levels: int) -> str:
    """Each fragment adds one level, so that only a reader that expands all fragments finds the depth."""
    links = "".join(f"fragment F{n} on T {{ a {{ ...F{n + 1} }} }} " for n in range(levels - 1))
    return f"{{ ...F0 }} {links} fragment F{levels - 1} on T {{ z }}"


def aliases(count: int) -> str:
    return "{ " + " ".join(f"n{number}: a" for number in range(count)) + " }"


def aliases_in_fragments(count: int) -> str:
    """Returns a document with this many aliases. Three fields spread a fragment with a third of them."""
    inside = " ".join(f"n{number}: a" for number in range(count // 3))
    outside = " ".join(f"m{number}: a" for number in range(count - 3 * (count // 3)))
    return f"{{ x {{ ...F }} y {{ ...F }} z {{ ...F }} b {outside} }} fragment F on T {{ {inside} }}"


def directives(count: int) -> str:
    return "{ a " + "@d " * count + "}"


def directives_everywhere(count: int) -> str:
    head = "query ($v: Int @d) @d { ...F @d ... @d { b } c @d } fragment F on T { a @d "
    return head + "@d " * (count - 6) + "}"


def fields(count: int) -> str:
    return "{ " + " ".join(f"a{number}" for number in range(count)) + " }"


def fields_in_fragments(count: int) -> str:
    half = " ".join(f"a{number}" for number in range(count // 2 - 1))
    rest = " ".join(f"b{number}" for number in range(count - 2 * (count // 2)))
    return f"{{ x {{ ...F }} y {{ ...F }} {rest} }} fragment F on T {{ {half} }}"


def operations(count: int) -> str:
    return " ".join(f"query q{number} {{ a }}" for number in range(count))


def fragments(count: int) -> str:
    return "{ a } " + " ".join(f"fragment F{number} on T {{ a }}" for number in range(count))


def spreads(count: int) -> str:
    return "{ " + "...F " * (count - 1) + "... { b } } fragment F on T { a }"


def spreads_of_operations(count: int) -> str:
    """Six operations read the same chain of fragments, so that each spread of the chain counts six times."""
    length = count // 6
    chain = "".join(f"fragment F{number} on T {{ ...F{number + 1} }} " for number in range(1, length))
    last = f"fragment F{length} on T {{ b }} query last {{ b {'...E ' * (count % 6)} }} fragment E on T {{ b }}"
    return "".join(f"query q{number} {{ ...F1 }} " for number in range(6)) + chain + last


def repeats(count: int) -> str:
    return "{ " + "a { b } " * count + "}"


def repeats_across_fields(count: int) -> str:
    """Returns a document that selects `b` this often, in several selections of `a` that merge."""
    return "{ " + "a { b { c } } " * (count // 3) + "a { " + "b { c } " * (count - count // 3) + "} }"


@pytest.mark.parametrize(
    ("make_document", "limit"),
    [
        (chain, LIMITS.depth),
        (fragment_chain, LIMITS.depth),
        (aliases, LIMITS.aliases),
        (aliases_in_fragments, LIMITS.aliases),
        (directives, LIMITS.directives),
        (directives_everywhere, LIMITS.directives),
        (fields, LIMITS.fields),
        (fields_in_fragments, LIMITS.fields),
        (operations, LIMITS.operations),
        (fragments, LIMITS.fragments),
        (spreads, LIMITS.spreads),
        (spreads_of_operations, LIMITS.spreads),
        (repeats, LIMITS.repeats),
        (repeats_across_fields, LIMITS.repeats),
    ],
)
def test_a_document_at_the_limit_passes_and_one_above_it_does_not(make_document: object, limit: int) -> None:
    assert callable(make_document)
    check_document(parse(make_document(limit)), LIMITS)
    with pytest.raises(BadInput) as error:
        check_document(parse(make_document(limit + 1)), LIMITS)
    assert error.value.extensions["maximum"] == limit


def test_limits_count_all_operations_of_a_document() -> None:
    text = "query A " + aliases(LIMITS.aliases) + " query B " + aliases(1)
    with pytest.raises(BadInput, match="aliases"):
        check_document(parse(text), LIMITS)


def test_a_text_at_the_size_limit_passes_and_a_longer_text_does_not() -> None:
    check_text(" " * LIMITS.document, LIMITS)
    with pytest.raises(BadInput):
        check_text(" " * (LIMITS.document + 1), LIMITS)


def test_the_size_of_a_text_is_counted_in_bytes() -> None:
    check_text("é" * (LIMITS.document // 2), LIMITS)
    with pytest.raises(BadInput):
        check_text("é" * (LIMITS.document // 2 + 1), LIMITS)


def test_a_text_at_the_token_limit_passes_and_one_more_token_does_not() -> None:
    documents = DocumentCache(bookshop._schema, limits=QueryLimits(tokens=11))
    documents.get("{ book(id: 1) { id } }")
    documents.get("{ book(id: 1) { id } } ,,, # neither commas nor comments are tokens")
    with pytest.raises(InvalidRequest) as error:
        documents.get("{ book(id: 1) { id title } }")
    assert "more than 11 tokens" in str(error.value.errors)


@pytest.mark.parametrize(
    "text",
    [
        "{ ...F } fragment F on Query { ...F }",
        "{ ...F } fragment F on Query { a { ...F } }",
        "{ ...F } fragment F on Query { " + " ".join(f"a{n} {{ ...F }}" for n in range(100)) + " }",
        "{ __schema { ...F } } fragment F on __Schema { " + " ".join(f"a{n} {{ ...F }}" for n in range(100)) + " }",
        "{ ...F0 } " + " ".join(f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(100)),
        "{ ...F0 } "
        + " ".join(f"fragment F{n} on Query {{ a {{ ...F{n + 1} }} b {{ ...F{n + 1} }} }}" for n in range(90)),
    ],
)
def test_cyclic_and_exponential_fragments_are_bad_input(text: str) -> None:
    with pytest.raises(InvalidRequest):
        DocumentCache(bookshop._schema, limits=LIMITS).get(text)


@pytest.mark.parametrize(
    "text",
    [
        "{ caller } fragment F on Query { " + "book(id: 1) { id } " * (LIMITS.repeats + 1) + "}",
        "{ caller } fragment F on Query { caller } fragment F on Query { caller }",
        "{ ...F } fragment F on Query { caller } fragment F on Query { " + "book(id: 1) { id } " * 100 + "}",
    ],
)
def test_unused_fragments_count_too(text: str) -> None:
    """Validation reads unused fragments too, and its time grows with the square of their size."""
    with pytest.raises(BadInput):
        check_document(parse(text), LIMITS)


def test_the_usual_introspection_query_passes_and_a_deeper_one_does_not() -> None:
    full = get_introspection_query(specified_by_url=True, directive_is_repeatable=True, input_value_deprecation=True)
    check_document(parse(full), LIMITS)
    deep = "{ __schema { types { " + "ofType { " * 18 + "name" + " }" * 21
    with pytest.raises(BadInput, match="levels"):
        check_document(parse(deep), LIMITS)


def test_the_introspection_depth_applies_to_introspection_only() -> None:
    with pytest.raises(BadInput, match="levels"):
        check_document(parse("{ __schema { types { name } } " + chain(LIMITS.depth + 1)[1:]), LIMITS)


def flat_list(count: int) -> dict[str, object]:
    return {"path": ["a"] * (count - 1)}


def input_objects(count: int) -> dict[str, object]:
    """Each object counts as one value, and its field as another."""
    return {"input": [{"id": "a"}] * ((count - 1) // 2), **dict.fromkeys("ab"[: (count - 1) % 2], 1)}


def nested_lists(count: int) -> dict[str, object]:
    value: list[object] = []
    for _ in range(count - 1):
        value = [value]
    return {"value": value}


@pytest.mark.parametrize("make_variables", [flat_list, input_objects, nested_lists])
def test_variables_at_the_limit_pass_and_one_more_value_does_not(make_variables: object) -> None:
    assert callable(make_variables)
    check_variables(make_variables(LIMITS.variables), LIMITS)
    with pytest.raises(BadInput, match="the variables contain more than 2000 values") as error:
        check_variables(make_variables(LIMITS.variables + 1), LIMITS)
    assert error.value.extensions == {"limit": "variables", "maximum": LIMITS.variables}
