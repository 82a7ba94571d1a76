"""Parses JSON into a `Policy`, as strictly as IAM. Each error begins with the JSON path of the wrong element."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from keyfence_iam import strict_json
from keyfence_iam.policy.condition_operators import parse_condition_block
from keyfence_iam.policy.document import Effect, Policy, Statement, Version
from keyfence_iam.policy.json_reader import InvalidPolicy, fail, items_with_path, known_members, string, strings
from keyfence_iam.policy.pattern import InvalidPattern, parse_pattern

DocumentKind = Literal["identity", "trust", "resource"]
"""Permissions boundaries and session policies are parsed as identity policies."""

ANY_PRINCIPAL = "*"
VERSIONS: tuple[Version, ...] = ("2012-10-17", "2008-10-17")
EFFECTS: tuple[Effect, ...] = ("Allow", "Deny")

_POLICY_ELEMENTS = frozenset({"Version", "Id", "Statement"})
_STATEMENT_ELEMENTS = frozenset(
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
_PRINCIPAL_TYPES = frozenset({"AWS", "Service", "Federated", "CanonicalUser"})
_AWS_PRINCIPAL = re.compile(r"\*|[0-9]{12}|arn:[a-z0-9-]+:(?:iam|sts)::[0-9]{12}:[^*?]+|[A-Z0-9]{16,128}")
_ACTION = re.compile(r"\*|[A-Za-z0-9*?_.-]+:[A-Za-z0-9*?_.-]+")
_SID = re.compile(r"[A-Za-z0-9]*")


def parse_policy(document: object, *, path: str = "policy", kind: DocumentKind = "identity") -> Policy:
    """Returns the policy of a JSON value. A document without a version has version 2008-10-17.

    Raises InvalidPolicy if IAM would not accept the policy. The JSON path in the message begins with `path`.
    """
    policy = known_members(document, path, _POLICY_ELEMENTS)
    version = _version(policy.get("Version", "2008-10-17"), f"{path}.Version")
    return Policy(
        version=version,
        id=string(policy["Id"], f"{path}.Id") or None if "Id" in policy else None,
        statements=_statements(policy, path, kind, has_variables=version == "2012-10-17"),
    )


def parse_policy_text(document: str | bytes, *, path: str = "policy", kind: DocumentKind = "identity") -> Policy:
    """Returns the policy of a JSON text. Raises InvalidPolicy, also if a key occurs twice in one object."""
    try:
        value = strict_json.parse(document)
    except strict_json.InvalidJson as error:
        raise InvalidPolicy(f"{path}: {error}") from error
    return parse_policy(value, path=path, kind=kind)


def document_kind(document: object) -> DocumentKind:
    """Returns the kind of a policy document in JSON. The document need not be valid.

    A document without principals is an identity policy. A document with principals is a trust policy if all its
    actions are actions of STS, and otherwise a resource policy.
    """
    element = document.get("Statement") if isinstance(document, Mapping) else None
    elements = element if isinstance(element, list) else [element]
    statements = [statement for statement in elements if isinstance(statement, Mapping)]
    if not any(name in statement for statement in statements for name in ("Principal", "NotPrincipal")):
        return "identity"
    actions = [
        str(action).lower()
        for statement in statements
        for name in ("Action", "NotAction")
        for action, _ in items_with_path(statement.get(name, []), name, allow_empty=True)
    ]
    return "trust" if all(action.startswith("sts:") for action in actions) else "resource"


def _version(value: object, path: str) -> Version:
    version = next((version for version in VERSIONS if version == value), None)
    if version is None:
        fail(path, f"{value!r} is neither 2012-10-17 nor 2008-10-17")
    return version


def _statements(
    policy: Mapping[str, Any], path: str, kind: DocumentKind, *, has_variables: bool
) -> tuple[Statement, ...]:
    if "Statement" not in policy:
        fail(path, "Statement is missing")
    elements = items_with_path(policy["Statement"], f"{path}.Statement")
    statements = tuple(
        _statement(element, element_path, kind, has_variables=has_variables) for element, element_path in elements
    )
    sids = [statement.sid for statement in statements if statement.sid is not None]
    if len(set(sids)) < len(sids):
        fail(f"{path}.Statement", f"the Sid {max(sids, key=sids.count)!r} occurs twice")
    return statements


def _statement(value: object, path: str, kind: DocumentKind, *, has_variables: bool) -> Statement:
    elements = known_members(value, path, _STATEMENT_ELEMENTS)
    _check_element(elements, "Action", path, kind, required=True)
    _check_element(elements, "Resource", path, kind, required=kind != "trust")
    _check_element(elements, "Principal", path, kind, required=kind != "identity")
    return Statement(
        effect=_effect(elements, path),
        sid=_sid(elements.get("Sid", ""), f"{path}.Sid", kind),
        actions=_actions(elements, "Action", path),
        not_actions=_actions(elements, "NotAction", path),
        resources=_resources(elements, "Resource", path, has_variables=has_variables),
        not_resources=_resources(elements, "NotResource", path, has_variables=has_variables),
        principals=_principals(elements, "Principal", path),
        not_principals=_principals(elements, "NotPrincipal", path),
        conditions=parse_condition_block(
            elements.get("Condition", {}), f"{path}.Condition", has_variables=has_variables
        ),
    )


def _check_element(elements: Mapping[str, Any], name: str, path: str, kind: DocumentKind, *, required: bool) -> None:
    """Raises InvalidPolicy if the element is `required` and missing, or if it is not `required` and present.

    The `Not` form of an element counts as the element. A statement cannot have both forms.
    """
    present = [element for element in (name, f"Not{name}") if element in elements]
    if len(present) > 1:
        fail(path, f"{name} and Not{name} exclude each other")
    if required and not present:
        fail(path, f"{name} is missing")
    if present and not required:
        fail(f"{path}.{present[0]}", f"is not allowed in {'an' if kind == 'identity' else 'a'} {kind} policy")


def _effect(elements: Mapping[str, Any], path: str) -> Effect:
    value = elements.get("Effect")
    effect = next((effect for effect in EFFECTS if effect == value), None)
    if effect is None:
        fail(f"{path}.Effect", "is missing" if value is None else f"{value!r} is neither Allow nor Deny")
    return effect


def _sid(value: object, path: str, kind: DocumentKind) -> str | None:
    sid = string(value, path)
    if kind != "resource" and not _SID.fullmatch(sid):
        fail(path, f"{sid!r} has characters other than A-Z, a-z and 0-9")
    return sid or None


def _actions(elements: Mapping[str, Any], name: str, path: str) -> tuple[str, ...]:
    actions = strings(elements, name, path, allow_empty=name == "Action")
    for action, action_path in actions:
        if not _ACTION.fullmatch(action):
            fail(action_path, f"{action!r} is neither '*' nor of the form service:action")
    return tuple(action for action, _ in actions)


def _resources(elements: Mapping[str, Any], name: str, path: str, *, has_variables: bool) -> tuple[str, ...]:
    resources = strings(elements, name, path, allow_empty=name == "Resource")
    for resource, resource_path in resources:
        _check_resource(resource, resource_path, has_variables=has_variables)
    return tuple(resource for resource, _ in resources)


def _check_resource(resource: str, path: str, *, has_variables: bool) -> None:
    """Raises InvalidPolicy unless the resource is `*` or an ARN pattern.

    A pattern may have fewer than six segments if it ends in `*`. Only the sixth segment can have variables.
    """
    segments = resource.split(":", 5)
    is_short = len(segments) < 6
    if resource != "*" and (segments[0] != "arn" or (is_short and not resource.endswith("*"))):
        fail(path, f"{resource!r} is neither '*' nor an ARN")
    try:
        parse_pattern(segments[-1], has_variables=has_variables and not is_short)
    except InvalidPattern as error:
        fail(path, str(error))


def _principals(elements: Mapping[str, Any], name: str, path: str) -> Mapping[str, tuple[str, ...]] | None:
    """Returns the names of principals by type. The text "*" in place of an object means every AWS principal."""
    if name not in elements:
        return None
    if elements[name] == ANY_PRINCIPAL:
        return {"AWS": (ANY_PRINCIPAL,)}
    names_by_type = known_members(elements[name], f"{path}.{name}", _PRINCIPAL_TYPES)
    if not names_by_type:
        fail(f"{path}.{name}", "must name at least one principal")
    return {
        principal_type: _principal_names(names_by_type, principal_type, f"{path}.{name}")
        for principal_type in names_by_type
    }


def _principal_names(names_by_type: Mapping[str, Any], principal_type: str, path: str) -> tuple[str, ...]:
    names = strings(names_by_type, principal_type, path)
    for name, name_path in names:
        if not _is_principal_name(name, principal_type):
            fail(name_path, f"{name!r} is not the full name of a principal")
    return tuple(name for name, _ in names)


def _is_principal_name(name: str, principal_type: str) -> bool:
    if principal_type == "AWS":
        return _AWS_PRINCIPAL.fullmatch(name) is not None
    return name != "" and not {"*", "?"} & set(name)
