"""Expressions use placeholders for all names and values, and have the intended effect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.store.codec import encode
from keyfence.store.expressions import Condition, Placeholders, UpdateExpression, absent, equals, present, size_below
from tests.data.model_strategies import TEXT
from tests.fakes.expressions import apply_update, meets_condition, placeholders

PATHS = st.lists(TEXT, min_size=1, max_size=3).map(tuple)
CONDITIONS = st.one_of(
    PATHS.map(lambda path: absent(*path)),
    PATHS.map(lambda path: present(*path)),
    st.builds(equals, TEXT | PATHS, TEXT | st.integers(0, 9)),
    st.builds(size_below, st.integers(0, 9), TEXT),
)


def render(condition: Condition | None = None, change: UpdateExpression | None = None) -> dict[str, object]:
    call_placeholders = Placeholders()
    body: dict[str, object] = {}
    if change:
        body["UpdateExpression"] = change.render(call_placeholders)
    if condition:
        body["ConditionExpression"] = condition.render(call_placeholders)
    return body | call_placeholders.parameters()


@given(st.lists(CONDITIONS, min_size=1, max_size=4), st.dictionaries(PATHS, TEXT, max_size=3))
def test_every_placeholder_that_is_used_is_defined_and_the_reverse(
    conditions: list[Condition], sets: dict[tuple[str, ...], object]
) -> None:
    combined = conditions[0]
    for condition in conditions[1:]:
        combined &= condition
    used, defined = placeholders(render(combined, UpdateExpression(sets=sets)))
    assert used == defined


@pytest.mark.parametrize("name", ["name", "role", "size", "status", "a.b", "a b", "#n0", ":v0", "{path}", "{value}"])
def test_a_name_that_dynamodb_reserves_or_could_misread_is_safe(name: str) -> None:
    body = render(equals(name, "x") & absent(name), UpdateExpression(sets={(name,): "y"}))
    assert body["ConditionExpression"] == "#n0 = :v1 AND attribute_not_exists(#n0)"
    assert body["UpdateExpression"] == "SET #n0 = :v0"
    assert body["ExpressionAttributeNames"] == {"#n0": name}
    assert body["ExpressionAttributeValues"] == {":v0": {"S": "y"}, ":v1": {"S": "x"}}


@given(TEXT, TEXT, TEXT)
def test_conditions_hold_when_all_of_their_terms_do(name: str, value: str, other: str) -> None:
    item = {"PK": encode("p"), name: encode(value)}
    assert meets_condition(render(equals(name, value) & present(name) & present()), item)
    assert meets_condition(render(equals(name, other)), item) == (value == other)
    assert not meets_condition(render(present(name) & absent(name)), item)
    assert meets_condition(render(absent(name)), {})


def test_a_condition_without_a_name_is_about_the_whole_item() -> None:
    assert meets_condition(render(absent()), {})
    assert not meets_condition(render(absent()), {"PK": encode("p")})
    assert meets_condition(render(present()), {"PK": encode("p")})


@given(st.frozensets(TEXT, max_size=4), st.integers(0, 4))
def test_size_below_holds_while_a_set_is_smaller_than_its_limit(tags: frozenset[str], limit: int) -> None:
    item = {"PK": encode("p"), **({"tags": encode(tags)} if tags else {})}
    assert meets_condition(render(size_below(limit, "tags")), item) == (len(tags) < limit or not tags)


def test_a_nested_value_is_compared() -> None:
    body = render(equals(("head", "until"), "u1"))
    assert meets_condition(body, {"head": encode({"until": "u1"})})
    assert not meets_condition(body, {"head": encode({"until": "u2"})})
    assert not meets_condition(body, {"until": encode("u1")})


def test_a_nested_name_is_one_placeholder_for_each_part() -> None:
    body = render(absent("head", "until"))
    assert body["ConditionExpression"] == "attribute_not_exists(#n0.#n1)"
    assert body["ExpressionAttributeNames"] == {"#n0": "head", "#n1": "until"}


def test_a_change_sets_adds_and_removes() -> None:
    change = UpdateExpression(
        sets={("title",): "New", ("head", "entries", "u.1"): {"role": "MEMBER"}},
        removes=(("note",),),
        adds={("count",): -2, ("tags",): frozenset({"b", "a"})},
    )
    body = render(change=change)
    assert body["UpdateExpression"] == "SET #n0 = :v0, #n1.#n2.#n3 = :v1 ADD #n4 :v2, #n5 :v3 REMOVE #n6"
    before = {
        "note": encode("old"),
        "count": encode(5),
        "head": encode({"entries": {}}),
        "tags": encode(frozenset("c")),
    }
    assert apply_update(body, before) == {
        "title": encode("New"),
        "count": encode(3),
        "head": encode({"entries": {"u.1": {"role": "MEMBER"}}}),
        "tags": encode(frozenset("abc")),
    }


def test_changes_join_and_an_empty_change_is_false() -> None:
    one = UpdateExpression(sets={("a",): 1}, removes=(("b",),))
    other = UpdateExpression(sets={("c",): 2}, adds={("d",): 1}, removes=(("e",),))
    assert one | other == UpdateExpression(sets={("a",): 1, ("c",): 2}, removes=(("b",), ("e",)), adds={("d",): 1})
    assert one | UpdateExpression() == one
    assert not UpdateExpression()
    assert all([one, UpdateExpression(removes=(("b",),)), UpdateExpression(adds={("d",): 1})])


def test_a_call_without_expressions_has_no_placeholders() -> None:
    assert render() == {}
    assert set(render(present())) == {"ConditionExpression", "ExpressionAttributeNames"}
