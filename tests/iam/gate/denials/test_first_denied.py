"""All authorization requests of a call are evaluated, equal ones once."""

from collections.abc import Mapping
from typing import Any

import pytest

from keyfence_iam.deployment import Deployment
from keyfence_iam.evaluator.decision import Denied
from keyfence_iam.evaluator.evaluation_logic import evaluate
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.assume_role import AssumeRoleRequest, assume_role
from keyfence_iam.gate.denials import first_denied
from keyfence_iam.roles import ROLES

DEPLOYMENT = Deployment()
SESSIONS = SessionIssuer(Account.from_definitions(ROLES, DEPLOYMENT), b"k" * 32)
OWN_KEY, FOREIGN_KEY = "TENANT#acme#A", "TENANT#acmecorp#A"


def authorization(
    key: str, action: str = "dynamodb:PutItem", attributes: tuple[str, ...] = ("PK",)
) -> AuthorizationRequest:
    context: dict[str, ContextValue] = {"dynamodb:LeadingKeys": (key,), "dynamodb:Attributes": attributes}
    return AuthorizationRequest(action, DEPLOYMENT.table_arn, context)


@pytest.fixture
def evaluated_contexts(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, ContextValue]]:
    """Records the contexts that were evaluated."""
    contexts: list[Mapping[str, ContextValue]] = []

    def recording_evaluate(policies: Any, request: AuthorizationRequest, principal: Any) -> Any:
        contexts.append(request.context)
        return evaluate(policies, request, principal)

    monkeypatch.setattr("keyfence_iam.gate.denials.evaluate", recording_evaluate)
    return contexts


def first_denied_of(*requests: AuthorizationRequest) -> tuple[AuthorizationRequest, Denied] | None:
    assume_tenant_write = AssumeRoleRequest(
        role_arn=DEPLOYMENT.role_arn("tenant-write"), session_name="acme", tags={"tenant": "acme"}
    )
    session = assume_role(assume_tenant_write, SESSIONS.issue_service_session("service-base").session, SESSIONS).session
    return first_denied(requests, {"aws:PrincipalTag/tenant": "acme"}, session, SESSIONS.account)


def test_equal_requests_are_evaluated_once(evaluated_contexts: list[Mapping[str, ContextValue]]) -> None:
    assert first_denied_of(*[authorization(OWN_KEY)] * 100) is None
    assert len(evaluated_contexts) == 1


@pytest.mark.parametrize(
    "other",
    [
        authorization(OWN_KEY + "B"),
        authorization(OWN_KEY, "dynamodb:DeleteItem"),
        authorization(OWN_KEY, attributes=("PK", "name")),
    ],
    ids=["key", "action", "attributes"],
)
def test_different_requests_are_each_evaluated(
    evaluated_contexts: list[Mapping[str, ContextValue]], other: AuthorizationRequest
) -> None:
    assert first_denied_of(authorization(OWN_KEY), other, authorization(OWN_KEY)) is None
    assert len(evaluated_contexts) == 2


@pytest.mark.parametrize("position", range(5))
def test_one_foreign_key_denies_at_any_position(position: int) -> None:
    requests = [authorization(OWN_KEY)] * 5
    requests[position] = authorization(FOREIGN_KEY)
    denied = first_denied_of(*requests)
    assert denied is not None
    assert denied[0] == authorization(FOREIGN_KEY)


def test_the_first_of_several_denied_requests_is_returned() -> None:
    denied = first_denied_of(
        authorization(OWN_KEY), authorization(FOREIGN_KEY), authorization(FOREIGN_KEY + "B"), authorization(FOREIGN_KEY)
    )
    assert denied is not None
    assert denied[0] == authorization(FOREIGN_KEY)
