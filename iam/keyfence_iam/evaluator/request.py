"""`AuthorizationRequest`, `Principal`, context with folded keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from keyfence_iam.evaluator.undocumented_behavior import EMPTY_LIST_IS_NO_VALUE

ContextValue = str | tuple[str, ...]
"""A tuple is the value of a key of ArrayOf type, also when it holds one text or none."""


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """One question to IAM; a call may ask several, all of which must be allowed."""

    action: str
    resource: str
    context: Mapping[str, ContextValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A role's session. AWS services that assume a role have only `service`."""

    account: str = ""
    role_arn: str = ""
    session_arn: str = ""
    service: str = ""


ConditionValues = Mapping[str, ContextValue]
"""By condition key in lower case, what the request says; a key without a value is not in it."""


class AmbiguousContextKey(ValueError):
    """A context that holds one key in two spellings."""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What every statement is held against."""

    action: str
    resource: str
    condition_values: ConditionValues
    principal: Principal

    @classmethod
    def of(cls, request: AuthorizationRequest, principal: Principal | None) -> "RequestContext":
        return cls(request.action.lower(), request.resource, fold_keys(request.context), principal or Principal())


def fold_keys(context: Mapping[str, ContextValue]) -> ConditionValues:
    named = {key.lower(): value for key, value in context.items()}
    if len(named) < len(context):
        raise AmbiguousContextKey("a condition key occurs in two spellings")
    if EMPTY_LIST_IS_NO_VALUE and () in named.values():
        return {key: value for key, value in named.items() if value != ()}
    return named
