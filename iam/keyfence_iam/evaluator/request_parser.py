"""A question to the evaluator as one line of JSON."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from keyfence_iam import strict_json
from keyfence_iam.evaluator.evaluation import Policies
from keyfence_iam.evaluator.request import AmbiguousContextKey, AuthorizationRequest, ContextValue, fold_keys
from keyfence_iam.policy import InvalidPolicy, Policy, parse_policy, parse_policy_text
from keyfence_iam.policy.operators import value_text

_FIELDS = frozenset({"identity", "boundary", "session", "action", "resource", "context"})
_WANTED = ("identity", "action", "resource")
_ACTION = re.compile(r"[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+")
_RESOURCE = re.compile(r"\*|arn:(?:[^:]*:){4}.+", re.DOTALL)


class InvalidRequestLine(ValueError):
    """A line that asks nothing that could be decided; the message names the place."""


def parse_request_line(line: bytes) -> tuple[Policies, AuthorizationRequest]:
    question = _object(line)
    try:
        return _policies(question), _asked(question)
    except (InvalidPolicy, AmbiguousContextKey) as error:
        raise InvalidRequestLine(str(error)) from error


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        question = strict_json.parse(line)
    except strict_json.InvalidJson as error:
        raise InvalidRequestLine(f"line: {error}") from error
    if not isinstance(question, dict):
        raise InvalidRequestLine("line: an object is wanted")
    _check_fields(question)
    return question


def _check_fields(question: Mapping[str, Any]) -> None:
    for name in _WANTED:
        if name not in question:
            raise InvalidRequestLine(f"{name}: is missing")
    for name in question:
        if name not in _FIELDS:
            raise InvalidRequestLine(f"{name!a}: unknown field")


def _policies(question: Mapping[str, Any]) -> Policies:
    """No policies of a kind, however that is said, are no limit: only what was passed to a session narrows it."""
    return Policies(
        identity=_listed(question["identity"], "identity"),
        boundary=_limit(question, "boundary"),
        session=_limit(question, "session"),
    )


def _limit(question: Mapping[str, Any], name: str) -> tuple[Policy, ...] | None:
    given = question.get(name)
    return None if given is None else _listed(given, name) or None


def _listed(value: object, where: str) -> tuple[Policy, ...]:
    if not isinstance(value, list):
        raise InvalidRequestLine(f"{where}: a list of policies is wanted")
    return tuple(_policy(document, f"{where}[{index}]") for index, document in enumerate(value))


def _policy(document: object, where: str) -> Policy:
    """A policy stands as an object, or as a text that holds one."""
    if isinstance(document, str):
        return _read_text(document, where)
    try:
        return _read(orjson.dumps(document), where)
    except orjson.JSONEncodeError:
        return parse_policy(document, path=where)


@lru_cache(maxsize=1024)
def _read_text(document: str, where: str) -> Policy:
    return parse_policy_text(document, path=where)


@lru_cache(maxsize=1024)
def _read(document: bytes, where: str) -> Policy:
    return parse_policy(orjson.loads(document), path=where)


def _asked(question: Mapping[str, Any]) -> AuthorizationRequest:
    action, resource = question["action"], question["resource"]
    if not isinstance(action, str) or not _ACTION.fullmatch(action):
        raise InvalidRequestLine("action: a text of the form service:Action is wanted")
    if not isinstance(resource, str) or not _RESOURCE.fullmatch(resource):
        raise InvalidRequestLine("resource: an ARN or '*' is wanted")
    return AuthorizationRequest(action, resource, _context(question.get("context")))


def _context(value: object) -> Mapping[str, ContextValue]:
    """By key; null is a key without a value, as if it were not there."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidRequestLine("context: an object is wanted")
    context = {key: _value(given, key) for key, given in value.items() if given is not None}
    fold_keys(context)
    return context


def _value(given: object, key: str) -> ContextValue:
    if isinstance(given, list):
        return tuple(_single(one, key) for one in given)
    return _single(given, key)


def _single(given: object, key: str) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, bool | int | float):
        return value_text(given)
    raise InvalidRequestLine(f"context.{key!a}: a text, or a list of texts, is wanted")
