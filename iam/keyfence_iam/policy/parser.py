"""JSON to `Policy`; each refusal names its place."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from keyfence_iam import strict_json
from keyfence_iam.policy.document import Effect, Policy, Statement, Version
from keyfence_iam.policy.json_reader import InvalidPolicy, fail, items_with_path, known_members, string, strings
from keyfence_iam.policy.operators import parse_condition_block
from keyfence_iam.policy.pattern import InvalidPattern, parse_pattern

ANY_PRINCIPAL = "*"

_KINDS = frozenset({"AWS", "Service", "Federated", "CanonicalUser"})
_AWS = re.compile(r"\*|[0-9]{12}|arn:[a-z0-9-]+:(?:iam|sts)::[0-9]{12}:[^*?]+|[A-Z0-9]{16,128}")


def parse_principals(written: Mapping[str, Any], name: str, where: str) -> Mapping[str, tuple[str, ...]] | None:
    """By kind, who is named; a lone "*" is the same as every AWS principal."""
    if name not in written:
        return None
    if written[name] == ANY_PRINCIPAL:
        return {"AWS": (ANY_PRINCIPAL,)}
    kinds = known_members(written[name], f"{where}.{name}", _KINDS)
    if not kinds:
        fail(f"{where}.{name}", "names nobody")
    return {kind: _named(kinds, kind, f"{where}.{name}") for kind in kinds}


def _named(kinds: Mapping[str, Any], kind: str, where: str) -> tuple[str, ...]:
    named = strings(kinds, kind, where)
    for name, place in named:
        if not (_AWS.fullmatch(name) if kind == "AWS" else name and not {"*", "?"} & set(name)):
            fail(place, f"{name!r} is not the whole name of a principal")
    return tuple(name for name, _ in named)


DocumentKind = Literal["identity", "trust", "resource"]
"""Identity policies, boundaries and session policies are of one form; trust and resource policies name principals."""

VERSIONS: tuple[Version, ...] = ("2012-10-17", "2008-10-17")
EFFECTS: tuple[Effect, ...] = ("Allow", "Deny")

_POLICY = frozenset({"Version", "Id", "Statement"})
_STATEMENT = frozenset(
    {
        "Sid",
        "Effect",
        "Principal",
        "NotPrincipal",
        "Action",
        "NotAction",
        "Resource",
        "NotResource",
        "Condition",
    }
)
_ACTION = re.compile(r"\*|[A-Za-z0-9*?_.-]+:[A-Za-z0-9*?_.-]+")
_SID = re.compile(r"[A-Za-z0-9]*")


def parse_policy(document: object, *, path: str = "policy", kind: DocumentKind = "identity") -> Policy:
    """The policy that this JSON value is. A document without a version is one of 2008-10-17."""
    policy = known_members(document, path, _POLICY)
    version = _version(policy.get("Version", "2008-10-17"), f"{path}.Version")
    return Policy(
        version=version,
        id=string(policy["Id"], f"{path}.Id") or None if "Id" in policy else None,
        statements=_statements(policy, path, kind, variables=version == "2012-10-17"),
    )


def parse_policy_text(document: str | bytes, *, path: str = "policy", kind: DocumentKind = "identity") -> Policy:
    """The policy that this JSON text is; a key that occurs twice in one object is refused too."""
    try:
        value = strict_json.parse(document)
    except strict_json.InvalidJson as error:
        raise InvalidPolicy(f"{path}: {error}") from error
    return parse_policy(value, path=path, kind=kind)


def _version(value: object, where: str) -> Version:
    found = next((version for version in VERSIONS if version == value), None)
    if found is None:
        fail(where, f"{value!r} is neither 2012-10-17 nor 2008-10-17")
    return found


def _statements(policy: Mapping[str, Any], where: str, kind: DocumentKind, *, variables: bool) -> tuple[Statement, ...]:
    if "Statement" not in policy:
        fail(where, "Statement is missing")
    places = items_with_path(policy["Statement"], f"{where}.Statement")
    statements = tuple(_statement(value, place, kind, variables=variables) for value, place in places)
    sids = [statement.sid for statement in statements if statement.sid is not None]
    if len(set(sids)) < len(sids):
        fail(f"{where}.Statement", f"the Sid {max(sids, key=sids.count)!r} occurs twice")
    return statements


def _statement(value: object, where: str, kind: DocumentKind, *, variables: bool) -> Statement:
    written = known_members(value, where, _STATEMENT)
    _check_pairs(written, where, kind)
    return Statement(
        effect=_effect(written, where),
        sid=_sid(written.get("Sid", ""), f"{where}.Sid", kind),
        actions=_actions(written, "Action", where),
        not_actions=_actions(written, "NotAction", where),
        resources=_resources(written, "Resource", where, variables=variables),
        not_resources=_resources(written, "NotResource", where, variables=variables),
        principals=parse_principals(written, "Principal", where),
        not_principals=parse_principals(written, "NotPrincipal", where),
        conditions=parse_condition_block(written.get("Condition", {}), f"{where}.Condition", variables=variables),
    )


def _check_pairs(written: Mapping[str, Any], where: str, kind: DocumentKind) -> None:
    _check_pair(written, "Action", where, wanted=True)
    _check_pair(written, "Resource", where, wanted=kind != "trust")
    _check_pair(written, "Principal", where, wanted=kind != "identity")


def _check_pair(written: Mapping[str, Any], name: str, where: str, *, wanted: bool) -> None:
    given = [element for element in (name, f"Not{name}") if element in written]
    if len(given) > 1:
        fail(where, f"{name} and Not{name} exclude each other")
    if wanted and not given:
        fail(where, f"{name} is missing")
    if given and not wanted:
        fail(f"{where}.{given[0]}", "has no place in a policy of this kind")


def _effect(written: Mapping[str, Any], where: str) -> Effect:
    value = written.get("Effect")
    found = next((effect for effect in EFFECTS if effect == value), None)
    if found is None:
        fail(f"{where}.Effect", "is missing" if value is None else f"{value!r} is neither Allow nor Deny")
    return found


def _sid(value: object, where: str, kind: DocumentKind) -> str | None:
    sid = string(value, where)
    if kind != "resource" and not _SID.fullmatch(sid):
        fail(where, f"{sid!r} has characters other than A-Z, a-z and 0-9")
    return sid or None


def _actions(written: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    found = strings(written, name, where, allow_empty=name == "Action")
    for action, place in found:
        if not _ACTION.fullmatch(action):
            fail(place, f"{action!r} is neither '*' nor of the form service:action")
    return tuple(action for action, _ in found)


def _resources(written: Mapping[str, Any], name: str, where: str, *, variables: bool) -> tuple[str, ...]:
    found = strings(written, name, where, allow_empty=name == "Resource")
    for resource, place in found:
        _check_resource(resource, place, variables=variables)
    return tuple(resource for resource, _ in found)


def _check_resource(resource: str, where: str, *, variables: bool) -> None:
    """An ARN may end early if it ends in a star; variables stand in its sixth segment alone."""
    segments = resource.split(":", 5)
    short = len(segments) < 6
    if resource != "*" and (segments[0] != "arn" or (short and not resource.endswith("*"))):
        fail(where, f"{resource!r} is neither '*' nor an ARN")
    try:
        parse_pattern(segments[-1], variables=variables and not short)
    except InvalidPattern as error:
        fail(where, str(error))
