"""A neighbour's ids, emails and cursors are worth nothing: every root field answers as if they never were."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.isolation.questions import Question, questions
from tests.world import Session, World

QUESTIONS = tuple(questions())
ULID_TEXT, TIME = r"\b([a-z]{3})_[0-9A-HJKMNP-TV-Z]{26}\b", r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)"
CURSOR = re.compile(r'"(cursor|startCursor|endCursor)": "[^"]*"')
EVERYTHING = """{
  users(first: 20) { edges { cursor node { id email name role version settings { name value } } } }
  groups(first: 20) { edges { cursor node {
    id name description memberCount version members { edges { role node { id } } }
  } } }
}"""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A tenant with something in every list, and the values by which a stranger could try to name it."""

    session: Session
    values: Mapping[str, tuple[str, ...]]
    secrets: tuple[str, ...]

    def assignments(self, question: Question) -> Iterator[dict[str, str]]:
        """Every way to fill the arguments with what exists here."""
        choices = [self._choices(name) for name in question.takes]
        for chosen in itertools.product(*choices):
            yield dict(zip(question.takes, chosen, strict=True))

    def _choices(self, name: str) -> tuple[str, ...]:
        if name == "id" or name.endswith("Id"):
            return self.values["id"]
        assert name in self.values, f"give the neighbour an example of the argument {name}"
        return self.values[name]


async def _neighbour(world: World) -> Neighbour:
    """Made through the API; a new noun of the schema gets its line here, and the test for its fields demands it."""
    session = world.session(await world.new_tenant())
    user = await session.ask(
        'mutation { createUser(input: {email: "only-there@neighbour.example", name: "Secretive One"}) { id } }'
    )
    loner = await session.ask('mutation { createUser(input: {email: "l@neighbour.example", name: "L"}) { id } }')
    group = await session.ask(
        'mutation { createGroup(input: {name: "Hidden Circle", description: "Unspoken"}) { id } }'
    )
    ids = {"u": user["createUser"]["id"], "g": group["createGroup"]["id"]}
    await session.ask("mutation($u: ID!, $g: ID!) { addMember(userId: $u, groupId: $g) { role } }", **ids)
    await session.ask(
        'mutation($u: ID!) { putSetting(userId: $u, name: "hue", value: "Ultraviolet") { name } }', u=ids["u"]
    )
    shown = await session.ask(EVERYTHING)
    return Neighbour(
        session,
        {
            "id": (*ids.values(), loner["createUser"]["id"]),
            "email": ("only-there@neighbour.example", "still-free@neighbour.example"),
            "name": ("Secretive One", "hue"),
            "description": ("Unspoken",),
            "after": tuple(shown[name]["edges"][0]["cursor"] for name in ("users", "groups")),
        },
        ("only-there", "neighbour.example", "Secretive", "Hidden Circle", "Unspoken", "Ultraviolet", session.tenant),
    )


def _nowhere(value: str) -> str:
    """A value of the same shape that nobody has."""
    if re.fullmatch(ULID_TEXT, value):
        return value[:14] + value[:13:-1]
    if "@" in value:
        return f"{value.partition('@')[0][::-1]}@nowhere.example"
    return value[:-4] + "AAAA" if len(value) > 40 else f"No such {len(value)}"


def _as_shape(answer: Mapping[str, Any], sent: Mapping[str, str]) -> str:
    """The answer without what any two calls differ in: the values that were sent, new ids, times and cursors."""
    text = json.dumps({name: part for name, part in answer.items() if name != "extensions"}, ensure_ascii=False)
    for value in sorted(set(sent.values()), key=len, reverse=True):
        text = text.replace(value, "<sent>")
    text = re.sub(r'"(name|email|description)": "[^"]*"', r'"\1": "<sent>"', CURSOR.sub(r'"\1": "<cursor>"', text))
    return re.sub(TIME, "<time>", re.sub(ULID_TEXT, r"<\1>", text))


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
async def test_what_a_neighbour_has_is_answered_like_what_nobody_has(world: World, question: Question) -> None:
    neighbour, stranger = await _neighbour(world), world.session(await world.new_tenant())
    before = await neighbour.session.ask(EVERYTHING)
    for given in neighbour.assignments(question):
        theirs = await stranger.answer(question.document, **question.variables(given))
        missing = {name: _nowhere(value) for name, value in given.items()}
        nobodys = await stranger.answer(question.document, **question.variables(missing))
        assert _as_shape(theirs, given) == _as_shape(nobodys, missing)
        if question.names_things:
            assert _is_nothing(theirs), theirs
        assert _leaks(theirs, neighbour, given) == []
    assert _without_cursors(await neighbour.session.ask(EVERYTHING)) == _without_cursors(before)


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
async def test_the_owner_of_the_same_values_gets_an_answer_with_one_of_them(world: World, question: Question) -> None:
    """Without this, a field that nobody can call would pass for one that keeps its secrets."""
    turns = len(list((await _neighbour(world)).assignments(question)))
    answers = [await _own_answer(await _neighbour(world), question, turn) for turn in range(turns)]
    assert [answer for answer in answers if "errors" not in answer and not _is_nothing(answer)]


async def _own_answer(neighbour: Neighbour, question: Question, turn: int) -> dict[str, Any]:
    given = list(neighbour.assignments(question))[turn]
    return await neighbour.session.answer(question.document, **question.variables(given))


def _is_nothing(answer: Mapping[str, Any]) -> bool:
    codes = {error["extensions"]["code"] for error in answer.get("errors", ())}
    values = list((answer.get("data") or {}).values())
    return codes <= {"NOT_FOUND", "BAD_USER_INPUT"} and values in ([], [None], [False])


def _leaks(answer: Mapping[str, Any], neighbour: Neighbour, sent: Mapping[str, str]) -> list[str]:
    """What of the neighbour's stands in the answer and was not in the question."""
    text = json.dumps(answer, ensure_ascii=False)
    for value in sent.values():
        text = text.replace(value, "")
    return [secret for secret in neighbour.secrets if secret in text]


def _without_cursors(shown: Mapping[str, Any]) -> str:
    return CURSOR.sub("", json.dumps(shown))
