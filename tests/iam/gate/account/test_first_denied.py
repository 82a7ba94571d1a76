"""All authorization requests of a call are evaluated, equal ones once."""

from collections.abc import Mapping
from typing import Any

import pytest

from keyfence_iam.deployment import Deployment
from keyfence_iam.evaluator.decision import Denied
from keyfence_iam.evaluator.evaluation_logic import evaluate
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import SessionIssuer, first_denied
from keyfence_iam.gate.assume_role import AssumeRoleRequest, assume_role
from keyfence_iam.roles import ROLES

DEPLOYMENT = Deployment()
SESSIONS = SessionIssuer(Account.from_definitions(ROLES, DEPLOYMENT), b"a gate's key is of 32 bytes, yes")
OWN, FOREIGN = "TENANT#acme#A", "TENANT#acmecorp#A"


def asked(key: str, action: str = "dynamodb:PutItem", attributes: tuple[str, ...] = ("PK",)) -> AuthorizationRequest:
    context: dict[str, ContextValue] = {"dynamodb:LeadingKeys": (key,), "dynamodb:Attributes": attributes}
    return AuthorizationRequest(action, DEPLOYMENT.table_arn, context)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, ContextValue]]:
    """Records the contexts that were evaluated."""
    seen: list[Mapping[str, ContextValue]] = []

    def watched(policies: Any, question: AuthorizationRequest, principal: Any) -> Any:
        seen.append(question.context)
        return evaluate(policies, question, principal)

    monkeypatch.setattr("keyfence_iam.gate.account.session.evaluate", watched)
    return seen


def denied(*questions: AuthorizationRequest) -> tuple[AuthorizationRequest, Denied] | None:
    request = AssumeRoleRequest(
        role_arn=DEPLOYMENT.role_arn("tenant-write"), session_name="acme", tags={"tenant": "acme"}
    )
    session = assume_role(request, SESSIONS.issue_service_session("service-base").session, SESSIONS).session
    return first_denied(questions, {"aws:PrincipalTag/tenant": "acme"}, session, SESSIONS.account)


def test_equal_requests_are_evaluated_once(judged: list[Mapping[str, ContextValue]]) -> None:
    assert denied(*[asked(OWN)] * 100) is None
    assert len(judged) == 1


@pytest.mark.parametrize(
    "other",
    [asked(OWN + "B"), asked(OWN, "dynamodb:DeleteItem"), asked(OWN, attributes=("PK", "name"))],
    ids=["key", "action", "attributes"],
)
def test_different_requests_are_each_evaluated(
    judged: list[Mapping[str, ContextValue]], other: AuthorizationRequest
) -> None:
    assert denied(asked(OWN), other, asked(OWN)) is None
    assert len(judged) == 2


@pytest.mark.parametrize("place", range(5))
def test_one_foreign_key_denies_at_any_position(place: int) -> None:
    questions = [asked(OWN)] * 5
    questions[place] = asked(FOREIGN)
    found = denied(*questions)
    assert found is not None
    assert found[0] == asked(FOREIGN)


def test_the_first_of_several_denied_requests_is_returned() -> None:
    found = denied(asked(OWN), asked(FOREIGN), asked(FOREIGN + "B"), asked(FOREIGN))
    assert found is not None
    assert found[0] == asked(FOREIGN)
