"""Parses one line of JSON that has policies and an authorization request."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from keyfence_iam import strict_json
from keyfence_iam.evaluator.evaluation_logic import Policies
from keyfence_iam.evaluator.request import AmbiguousContextKey, AuthorizationRequest, ContextValue, lowercase_keys
from keyfence_iam.policy import InvalidPolicy, Policy, parse_policy, parse_policy_text
from keyfence_iam.policy.condition_operators import value_text

_FIELDS = frozenset({"identity", "boundary", "session", "action", "resource", "context"})
_REQUIRED_FIELDS = ("identity", "action", "resource")
_ACTION = re.compile(r"[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+")
_RESOURCE = re.compile(r"\*|arn:(?:[^:]*:){4}.+", re.DOTALL)


class InvalidRequestLine(ValueError):
    """The line does not have the form that `parse_request_line` expects. The message begins with the
    name of the wrong field."""


def parse_request_line(line: bytes) -> tuple[Policies, AuthorizationRequest]:
    """Parses a line such as {"identity": [policy], "action": "dynamodb:GetItem", "resource": "*"}.

    Optional fields are "boundary", "session" and "context". Raises InvalidRequestLine if the line has another form.
    """
    fields = _fields(line)
    try:
        return _policies(fields), _request(fields)
    except (InvalidPolicy, AmbiguousContextKey) as error:
        raise InvalidRequestLine(str(error)) from error


def _fields(line: bytes) -> Mapping[str, Any]:
    try:
        fields = strict_json.parse(line)
    except strict_json.InvalidJson as error:
        raise InvalidRequestLine(f"line: {error}") from error
    if not isinstance(fields, dict):
        raise InvalidRequestLine("line: must be an object")
    for name in _REQUIRED_FIELDS:
        if name not in fields:
            raise InvalidRequestLine(f"{name}: is missing")
    for name in fields:
        if name not in _FIELDS:
            raise InvalidRequestLine(f"{name!a}: unknown field")
    return fields


def _policies(fields: Mapping[str, Any]) -> Policies:
    """Returns the policies. A boundary or session that is absent, null or an empty list limits nothing."""
    return Policies(
        identity=_policy_list(fields["identity"], "identity"),
        boundary=_limiting_policies(fields, "boundary"),
        session=_limiting_policies(fields, "session"),
    )


def _limiting_policies(fields: Mapping[str, Any], name: str) -> tuple[Policy, ...] | None:
    value = fields.get(name)
    return None if value is None else _policy_list(value, name) or None


def _policy_list(value: object, path: str) -> tuple[Policy, ...]:
    if not isinstance(value, list):
        raise InvalidRequestLine(f"{path}: must be a list of policies")
    return tuple(_policy(document, f"{path}[{index}]") for index, document in enumerate(value))


def _policy(document: object, path: str) -> Policy:
    """Parses a policy, which is an object or a string that contains the JSON of an object."""
    if isinstance(document, str):
        return _parse_text(document, path)
    try:
        return _parse_bytes(orjson.dumps(document), path)
    except orjson.JSONEncodeError:  # such as an integer of more than 64 bits
        return parse_policy(document, path=path)


@lru_cache(maxsize=1024)
def _parse_text(document: str, path: str) -> Policy:
    return parse_policy_text(document, path=path)


@lru_cache(maxsize=1024)
def _parse_bytes(document: bytes, path: str) -> Policy:
    """Parses a policy. It takes bytes because the cache needs an argument that can be hashed."""
    return parse_policy(orjson.loads(document), path=path)


def _request(fields: Mapping[str, Any]) -> AuthorizationRequest:
    action, resource = fields["action"], fields["resource"]
    if not isinstance(action, str) or not _ACTION.fullmatch(action):
        raise InvalidRequestLine("action: must be a string of the form service:Action")
    if not isinstance(resource, str) or not _RESOURCE.fullmatch(resource):
        raise InvalidRequestLine("resource: must be an ARN or '*'")
    return AuthorizationRequest(action, resource, _context(fields.get("context")))


def _context(value: object) -> Mapping[str, ContextValue]:
    """Returns the values by condition key. A key with the value null counts as absent."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidRequestLine("context: must be an object")
    context = {
        key: _context_value(context_value, key) for key, context_value in value.items() if context_value is not None
    }
    lowercase_keys(context)  # raises AmbiguousContextKey
    return context


def _context_value(value: object, key: str) -> ContextValue:
    if isinstance(value, list):
        return tuple(_single_value(element, key) for element in value)
    return _single_value(value, key)


def _single_value(value: object, key: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return value_text(value)
    raise InvalidRequestLine(f"context.{key!a}: must be a string, a number, a boolean, or a list of them")
