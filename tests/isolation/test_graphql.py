"""For a neighbour's ids, emails and cursors, every root field responds as if they did not exist."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from tests.isolation.neighbour_tenant import EVERYTHING, Neighbour, create_neighbour
from tests.isolation.root_fields import RootFieldCall, node_types, root_field_calls
from tests.stack import ApiClient, ServiceStack

pytestmark = pytest.mark.one_engine  # hundreds of requests, whose answers do not depend on the engine

QUESTIONS = tuple(root_field_calls())
ULID_TEXT, TIME = r"\b([a-z]{3})_[0-9A-HJKMNP-TV-Z]{26}\b", r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)"
CURSOR = re.compile(r'"(cursor|startCursor|endCursor)": "[^"]*"')


def _nowhere(value: str) -> str:
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
    return re.sub(TIME, "<time>", re.sub(ULID_TEXT, r"<\1>", text))


@pytest.mark.parametrize("operation", ["query", "mutation"])
async def test_a_neighbours_values_get_the_same_response_as_unknown_values(stack: ServiceStack, operation: str) -> None:
    """One neighbour is enough for all fields: the test also asserts that no call of a stranger changes it."""
    neighbour = await create_neighbour(stack)
    before = _without_cursors(await neighbour.session.data(EVERYTHING))
    mismatches = []
    for question in _of(operation):
        stranger = stack.api_client(await stack.new_tenant())
        mismatches += [f"{question}: {found}" async for found in _mismatches(question, neighbour, stranger)]
        if _without_cursors(await neighbour.session.data(EVERYTHING)) != before:
            mismatches.append(f"{question}: changed the neighbour")
    assert mismatches == []


@pytest.mark.parametrize("operation", ["query", "mutation"])
async def test_the_owner_of_the_values_gets_data_for_at_least_one_of_them(stack: ServiceStack, operation: str) -> None:
    """Proves that the other test can fail: a field that nobody can call would pass it."""
    neighbour = await create_neighbour(stack)
    unanswered = []
    for question in _of(operation):
        if operation == "mutation":
            neighbour = await create_neighbour(stack)
        if not await _is_answered(question, neighbour):
            unanswered.append(str(question))
    assert unanswered == []


def _of(operation: str) -> list[RootFieldCall]:
    return [question for question in QUESTIONS if question.operation == operation]


async def _mismatches(question: RootFieldCall, neighbour: Neighbour, stranger: ApiClient) -> AsyncIterator[str]:
    for given in neighbour.assignments(question):
        theirs = await stranger.execute(question.document, **question.variables(given))
        missing = {name: _nowhere(value) for name, value in given.items()}
        nobodys = await stranger.execute(question.document, **question.variables(missing))
        if _as_shape(theirs, given) != _as_shape(nobodys, missing):
            yield f"{theirs} is not like {nobodys}"
        if question.has_id_argument and not _is_unknown(theirs):
            yield f"{theirs} is not what an unknown id gets"
        if leaks := _leaks(theirs, neighbour, given):
            yield f"{theirs} shows {leaks}"


async def _is_answered(question: RootFieldCall, neighbour: Neighbour) -> bool:
    for given in neighbour.assignments(question):
        answer = await neighbour.session.execute(question.document, **question.variables(given))
        if "errors" not in answer and list(answer["data"].values()) not in ([None], [False]):
            return True
    return False


TOLD_AT_ONCE = ("id of the form", "no such")
"""Messages of errors that do not depend on any item: an id of another type, and an unknown id inside an input."""


def _is_unknown(answer: Mapping[str, Any]) -> bool:
    """Whether the response is null or NOT_FOUND, without data."""
    errors = [one for one in answer.get("errors", ()) if not any(words in one["message"] for words in TOLD_AT_ONCE)]
    codes = {error["extensions"]["code"] for error in errors}
    return codes <= {"NOT_FOUND"} and list((answer.get("data") or {}).values()) in ([], [None])


INNER_LISTS = [
    (type_.name, name) for type_ in node_types() for name, field in type_.fields.items() if "after" in field.args
]


@pytest.mark.parametrize(("noun", "field"), INNER_LISTS)
async def test_a_neighbours_cursor_is_rejected_by_nested_lists(stack: ServiceStack, noun: str, field: str) -> None:
    part = f"... on {noun} {{ {field}(first: 1, after: $after) {{ edges {{ cursor }} }} }}"
    ask = f"query($id: ID!, $after: String) {{ node(id: $id) {{ {part} }} }}"
    own, neighbour = await create_neighbour(stack), await create_neighbour(stack)
    cursors = {id: await _cursors(neighbour, ask, field, id) for id in neighbour.values["id"]}
    cursor = next(iter(found for some in cursors.values() for found in some), None)
    assert cursor, f"give the neighbour something in {noun}.{field}"
    for id in own.values["id"]:
        found = (await own.session.data("query($id: ID!) { node(id: $id) { __typename } }", id=id))["node"]
        if found and found["__typename"] == noun:
            theirs = await own.session.execute(ask, id=id, after=cursor)
            nobodys = await own.session.execute(ask, id=id, after=_nowhere(cursor))
            assert _as_shape(theirs, {"after": cursor}) == _as_shape(nobodys, {"after": _nowhere(cursor)})
            assert [error["extensions"]["code"] for error in theirs["errors"]] == ["BAD_USER_INPUT"]


async def _cursors(neighbour: Neighbour, ask: str, field: str, id: str) -> list[str]:
    node = (await neighbour.session.data(ask, id=id))["node"]
    return [edge["cursor"] for edge in (node or {}).get(field, {}).get("edges", ())]


def _leaks(answer: Mapping[str, Any], neighbour: Neighbour, sent: Mapping[str, str]) -> list[str]:
    """Returns the neighbour's values that are in the response and were not sent."""
    text = json.dumps(answer, ensure_ascii=False)
    for value in sent.values():
        text = text.replace(value, "")
    return [secret for secret in neighbour.secrets if secret in text]


def _without_cursors(shown: Mapping[str, Any]) -> str:
    return CURSOR.sub("", json.dumps(shown))
