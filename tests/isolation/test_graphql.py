"""For a neighbour's ids, emails and cursors, every root field responds as if they did not exist."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from tests.isolation.neighbour_tenant import READ_EVERYTHING, Neighbour, create_neighbour
from tests.isolation.root_fields import RootFieldCall, node_types, root_field_calls
from tests.stack import ApiClient, ServiceStack

pytestmark = pytest.mark.one_engine  # These tests send hundreds of requests. The answers do not depend on the engine.

ROOT_FIELD_CALLS = tuple(root_field_calls())
ULID_TEXT, TIMESTAMP = r"\b([a-z]{3})_[0-9A-HJKMNP-TV-Z]{26}\b", r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)"
CURSOR = re.compile(r'"(cursor|startCursor|endCursor)": "[^"]*"')


def _unknown_value_like(value: str) -> str:
    """Returns a value of the same shape that no tenant has."""
    if re.fullmatch(ULID_TEXT, value):
        return value[:14] + value[:13:-1]
    if re.fullmatch(r"\d{4}-\d\d|[A-Z]{3}", value):
        return {"2026-11": "1999-01"}.get(value, "ZZZ")
    if "@" in value:
        return f"{value.partition('@')[0][::-1]}@nowhere.example"
    return value[:-4] + "AAAA" if len(value) > 40 else f"No such {len(value)}"


def _as_shape(answer: Mapping[str, Any], sent: Mapping[str, str]) -> str:
    """Returns the response without the parts that differ in any two calls: sent values, new ids, times and cursors."""
    text = json.dumps({name: part for name, part in answer.items() if name != "extensions"}, ensure_ascii=False)
    for value in sorted(set(sent.values()), key=len, reverse=True):
        text = text.replace(value, "<sent>")
    text = re.sub(r'"(name|email|description)": "[^"]*"', r'"\1": "<sent>"', CURSOR.sub(r'"\1": "<cursor>"', text))
    return re.sub(TIMESTAMP, "<time>", re.sub(ULID_TEXT, r"<\1>", text))


@pytest.mark.parametrize("operation", ["query", "mutation"])
async def test_a_neighbours_values_get_the_same_response_as_unknown_values(stack: ServiceStack, operation: str) -> None:
    """All fields share one neighbour: the test also asserts that no call of a stranger changes the neighbour."""
    neighbour = await create_neighbour(stack)
    before = _without_cursors(await neighbour.client.data(READ_EVERYTHING))
    mismatches = []
    for field_call in _calls_of(operation):
        stranger = stack.api_client(await stack.new_tenant())
        mismatches += [f"{field_call}: {mismatch}" async for mismatch in _mismatches(field_call, neighbour, stranger)]
        if _without_cursors(await neighbour.client.data(READ_EVERYTHING)) != before:
            mismatches.append(f"{field_call}: changed the neighbour")
    assert mismatches == []


@pytest.mark.parametrize("operation", ["query", "mutation"])
async def test_the_owner_of_the_values_gets_data_for_at_least_one_of_them(stack: ServiceStack, operation: str) -> None:
    """Proves that the test above can fail: a field that never returns data would pass it."""
    neighbour = await create_neighbour(stack)
    calls_without_data = []
    for field_call in _calls_of(operation):
        if operation == "mutation":
            neighbour = await create_neighbour(stack)
        if not await _gets_data(field_call, neighbour):
            calls_without_data.append(str(field_call))
    assert calls_without_data == []


def _calls_of(operation: str) -> list[RootFieldCall]:
    return [field_call for field_call in ROOT_FIELD_CALLS if field_call.operation == operation]


async def _mismatches(field_call: RootFieldCall, neighbour: Neighbour, stranger: ApiClient) -> AsyncIterator[str]:
    for assignment in neighbour.assignments(field_call):
        answer_for_neighbours = await stranger.execute(field_call.document, **field_call.variables(assignment))
        unknown_assignment = {name: _unknown_value_like(value) for name, value in assignment.items()}
        answer_for_unknown = await stranger.execute(field_call.document, **field_call.variables(unknown_assignment))
        if _as_shape(answer_for_neighbours, assignment) != _as_shape(answer_for_unknown, unknown_assignment):
            yield f"{answer_for_neighbours} is not like {answer_for_unknown}"
        if field_call.has_id_argument and not _is_unknown(answer_for_neighbours):
            yield f"{answer_for_neighbours} is not the answer for an unknown id"
        if leaks := _leaks(answer_for_neighbours, neighbour, assignment):
            yield f"{answer_for_neighbours} shows {leaks}"


async def _gets_data(field_call: RootFieldCall, neighbour: Neighbour) -> bool:
    for assignment in neighbour.assignments(field_call):
        answer = await neighbour.client.execute(field_call.document, **field_call.variables(assignment))
        if "errors" not in answer and list(answer["data"].values()) not in ([None], [False]):
            return True
    return False


MESSAGES_WITHOUT_A_LOOKUP = ("id of the form", "no such")
"""Parts of error messages that do not depend on any item: for an id of another type, and for an unknown id in an
input."""


def _is_unknown(answer: Mapping[str, Any]) -> bool:
    """Whether the response is null or NOT_FOUND, without data."""
    errors = [
        error
        for error in answer.get("errors", ())
        if not any(words in error["message"] for words in MESSAGES_WITHOUT_A_LOOKUP)
    ]
    codes = {error["extensions"]["code"] for error in errors}
    return codes <= {"NOT_FOUND"} and list((answer.get("data") or {}).values()) in ([], [None])


INNER_LISTS = [
    (type_.name, name) for type_ in node_types() for name, field in type_.fields.items() if "after" in field.args
]


@pytest.mark.parametrize(("type_name", "field"), INNER_LISTS)
async def test_a_neighbours_cursor_is_rejected_by_nested_lists(stack: ServiceStack, type_name: str, field: str) -> None:
    fragment = f"... on {type_name} {{ {field}(first: 1, after: $after) {{ edges {{ cursor }} }} }}"
    document = f"query($id: ID!, $after: String) {{ node(id: $id) {{ {fragment} }} }}"
    caller, neighbour = await create_neighbour(stack), await create_neighbour(stack)
    cursors_by_id = {id: await _cursors(neighbour, document, field, id) for id in neighbour.values["id"]}
    cursor = next(iter(cursor for cursors in cursors_by_id.values() for cursor in cursors), None)
    assert cursor, f"give the neighbour something in {type_name}.{field}"
    for id in caller.values["id"]:
        node = (await caller.client.data("query($id: ID!) { node(id: $id) { __typename } }", id=id))["node"]
        if node and node["__typename"] == type_name:
            answer_for_neighbours = await caller.client.execute(document, id=id, after=cursor)
            answer_for_unknown = await caller.client.execute(document, id=id, after=_unknown_value_like(cursor))
            assert _as_shape(answer_for_neighbours, {"after": cursor}) == _as_shape(
                answer_for_unknown, {"after": _unknown_value_like(cursor)}
            )
            assert [error["extensions"]["code"] for error in answer_for_neighbours["errors"]] == ["BAD_USER_INPUT"]


async def _cursors(neighbour: Neighbour, document: str, field: str, id: str) -> list[str]:
    node = (await neighbour.client.data(document, id=id))["node"]
    return [edge["cursor"] for edge in (node or {}).get(field, {}).get("edges", ())]


def _leaks(answer: Mapping[str, Any], neighbour: Neighbour, sent: Mapping[str, str]) -> list[str]:
    """Returns the neighbour's values that are in the response and were not sent.

    The id `tenant-1` of a neighbour is no part of the caller's own id `tenant-18`."""
    text = json.dumps(answer, ensure_ascii=False)
    for value in sent.values():
        text = text.replace(value, "")
    return [secret for secret in neighbour.secrets if re.search(rf"{re.escape(secret)}(?!\w)", text)]


def _without_cursors(data: Mapping[str, Any]) -> str:
    return CURSOR.sub("", json.dumps(data))
