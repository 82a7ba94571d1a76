"""`RandomCall`: a DynamoDB call of the catalogue with random changes of its parameters and of its operation."""

import copy
from collections.abc import Iterator, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import botocore.session

from keyfence.store.keys import Fence
from keyfence_iam.dynamodb.operations import PARAMETERS, STREAM_OPERATIONS
from tests.isolation.catalogue_calls import Call
from tests.isolation.fuzz.odd_values import ODD_INTEGERS, ODD_NUMBERS, ODD_TEXTS, as_json

OPERATIONS = sorted(botocore.session.get_session().get_service_model("dynamodb").operation_names)
PARAMETER_NAMES = sorted({name for names in PARAMETERS.values() for name in names})
EXPRESSIONS = (
    "#p = :p OR #p = :q", "begins_with(#p, :p)", "PK = :p", "#p = :p AND SK > :p", "(#p) = :p", "#p BETWEEN :p AND :p",
    "#p <> :p", "size(#p) > :p", "#p = :p#", "attribute_exists(PK)", "PK, SK, note", "#p", "NOT #p = :p", "",
)  # fmt: skip
TARGETS = (
    "DynamoDB_20120810.{}", "DynamoDB_20111205.{}", "dynamodb_20120810.{}",
    "DynamoDBStreams_20120810.{}", "DynamoDB_20120810.{} ", " DynamoDB_20120810.{}", "DynamoDB_20120810..{}", "{}", "",
)  # fmt: skip
"""Values of the header X-Amz-Target. The first one is right."""


@dataclass(frozen=True, slots=True)
class RandomCall:
    target: str
    body: bytes


@dataclass(frozen=True, slots=True)
class CallMutator:
    """Changes calls of one tenant. `own` is its fence, and `foreign` are fences that it must not reach."""

    random: Random
    table: str
    own: Fence
    foreign: Sequence[Fence]

    def random_call(self, calls: Sequence[Call]) -> RandomCall:
        """Returns a call with up to 3 changes, in the tenant's own fence or, in one of three cases, a foreign one."""
        call = self.random.choice(calls)
        fence = self.own if self.random.random() < 0.65 else self.random.choice(self.foreign)
        parameters = copy.deepcopy(dict(call.parameters(self.table, fence)))
        foreign_parameters = dict(call.parameters(self.table, self.random.choice(self.foreign)))
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 3))):
            self._change(parameters, foreign_parameters)
        text = as_json(parameters)
        if self.random.random() < 0.03:
            text = f"{text[:-1]}, {as_json(foreign_parameters)[1:]}"  # the same members twice
        return RandomCall(self._target(call.operation), text.encode())

    def _target(self, operation: str) -> str:
        if self.random.random() < 0.15:
            operation = self.random.choice((*OPERATIONS, *sorted(STREAM_OPERATIONS), operation.lower()))
        return (TARGETS[0] if self.random.random() < 0.95 else self.random.choice(TARGETS)).format(operation)

    def _change(self, parameters: dict[str, Any], foreign_parameters: dict[str, Any]) -> None:
        container = self.random.choice(list(_containers(parameters)))
        if isinstance(container, list):
            self._change_list(container, foreign_parameters)
        else:
            self._change_object(container, foreign_parameters)

    def _change_list(self, members: MutableSequence[Any], foreign_parameters: dict[str, Any]) -> None:
        position = self.random.randrange(len(members) + 1)
        foreign_lists = [part for part in _containers(foreign_parameters) if isinstance(part, list) and part]
        foreign_member = self.random.choice(foreign_lists)[0] if foreign_lists else None
        members.insert(position, self.random.choice((copy.deepcopy(foreign_member), self._value(foreign_parameters))))

    def _change_object(self, members: MutableMapping[str, Any], foreign_parameters: dict[str, Any]) -> None:
        name = self.random.choice([*members, "extra"])
        change = self.random.randrange(6)
        if change == 0:
            members.pop(name, None)
        elif change == 1 and name in members:
            members[self.random.choice((name.lower(), name.upper(), f" {name}", "PK", "GSI1PK", ":p", "#p"))] = (
                members.pop(name)
            )
        elif change == 2:
            members[self.random.choice(PARAMETER_NAMES)] = self._value(foreign_parameters)
        elif change == 3 and name.endswith("Expression"):
            members[name] = self.random.choice(EXPRESSIONS)
        else:
            members[name] = self._value(foreign_parameters)

    def _value(self, foreign_parameters: dict[str, Any]) -> Any:
        """Returns a part of the call with a foreign key, an expression, a name, or any JSON value."""
        foreign_key = {"PK": {"S": f"{self.random.choice(self.foreign).prefix}USER#1"}, "SK": {"S": "PROFILE"}}
        foreign_parts = [copy.deepcopy(part) for part in _containers(foreign_parameters)]
        return self.random.choice(
            (
                *foreign_parts, foreign_key, foreign_key["PK"], foreign_key["PK"]["S"], {"PK": foreign_key["PK"]},
                {"#p": "PK", "#q": "GSI1PK"}, {":p": foreign_key["PK"], ":q": foreign_key["PK"]}, "GSI1", "GSI2",
                "ALL_OLD", "PK", self.table, f"{self.table}-silo-acme1",
                f"arn:aws:dynamodb:us-east-1:000000000000:table/{self.table}",
                {"SS": [foreign_key["PK"]["S"]]}, {"B": "VEVOQU5U"}, {"N": "1"}, {"NULL": True}, {"M": foreign_key},
                self.random.choice(EXPRESSIONS), self.random.choice(ODD_TEXTS), self.random.choice(ODD_INTEGERS),
                self.random.choice(ODD_NUMBERS), None, True, [], {}, [foreign_key],
            )
        )  # fmt: skip


def _containers(value: Any) -> Iterator[Any]:
    """Yields the objects and lists in a JSON value, the value itself first."""
    if isinstance(value, dict | list):
        yield value
        for part in value.values() if isinstance(value, dict) else value:
            yield from _containers(part)
