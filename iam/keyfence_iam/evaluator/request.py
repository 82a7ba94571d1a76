"""The request that IAM decides on: action, resource, condition keys and principal."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from keyfence_iam.evaluator.undocumented_evaluation_rules import EMPTY_LIST_IS_NO_VALUE

ContextValue = str | tuple[str, ...]
"""A multivalued key has a tuple, also if it has one value or none."""

ConditionValues = Mapping[str, ContextValue]
"""Values by condition key in lower case. Keys without a value are left out."""


class AmbiguousContextKey(ValueError):
    """The context has one condition key twice, in different case."""


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """One action on one resource. A DynamoDB call can need several; all of them must be allowed."""

    action: str
    resource: str
    context: Mapping[str, ContextValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The session of a role. An AWS service that assumes a role has only `service`."""

    account: str = ""
    role_arn: str = ""
    session_arn: str = ""
    service: str = ""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """An authorization request in the form that statements are compared with: action and keys in lower case."""

    action: str
    resource: str
    condition_values: ConditionValues
    principal: Principal

    @classmethod
    def of(cls, request: AuthorizationRequest, principal: Principal | None) -> "RequestContext":
        return cls(request.action.lower(), request.resource, fold_keys(request.context), principal or Principal())


def fold_keys(context: Mapping[str, ContextValue]) -> ConditionValues:
    """Returns the context with keys in lower case. Raises AmbiguousContextKey."""
    folded = {key.lower(): value for key, value in context.items()}
    if len(folded) < len(context):
        raise AmbiguousContextKey("a condition key occurs twice, in different case")
    if EMPTY_LIST_IS_NO_VALUE and () in folded.values():
        return {key: value for key, value in folded.items() if value != ()}
    return folded
