"""The request that IAM decides on: action, resource, condition keys and principal."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from keyfence_iam.evaluator.undocumented_evaluation_rules import EMPTY_LIST_IS_NO_VALUE

ContextValue = str | tuple[str, ...]
"""The value of a condition key. A multivalued key has a tuple, even if the tuple has only one value or none."""

LowercaseContext = Mapping[str, ContextValue]
"""The context of a request, with its keys in lower case. If EMPTY_LIST_IS_NO_VALUE is true, keys with an empty tuple
are left out."""


class AmbiguousContextKey(ValueError):
    """The context has the same condition key twice, in different case."""


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """One action on one resource. A DynamoDB call can need several of them, and all must be allowed."""

    action: str
    resource: str
    context: Mapping[str, ContextValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The caller: the session of a role, or an AWS service. For an AWS service, only `service` is set."""

    account: str = ""
    role_arn: str = ""
    session_arn: str = ""
    service: str = ""
    """The name of an AWS service, such as `ecs-tasks.amazonaws.com`."""


@dataclass(frozen=True, slots=True)
class NormalizedRequest:
    """An authorization request with its action and condition keys in lower case, since IAM ignores their case."""

    action: str
    resource: str
    context: LowercaseContext
    principal: Principal

    @classmethod
    def of(cls, request: AuthorizationRequest, principal: Principal | None) -> "NormalizedRequest":
        return cls(request.action.lower(), request.resource, lowercase_keys(request.context), principal or Principal())


def lowercase_keys(context: Mapping[str, ContextValue]) -> LowercaseContext:
    """Returns the context with keys in lower case. Raises AmbiguousContextKey if two keys differ only in case."""
    lowercase = {key.lower(): value for key, value in context.items()}
    if len(lowercase) < len(context):
        raise AmbiguousContextKey("a condition key occurs twice, in different case")
    if EMPTY_LIST_IS_NO_VALUE and () in lowercase.values():
        return {key: value for key, value in lowercase.items() if value != ()}
    return lowercase
