"""A request that cannot be evaluated is denied. An empty list of policies allows nothing."""

from typing import Any, cast

import pytest

from keyfence_iam.evaluator.decision import Allowed, Denied, StatementId
from keyfence_iam.evaluator.evaluation_logic import Policies, evaluate, evaluate_trust
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue, Principal
from keyfence_iam.policy import Condition, Policy, Statement, parse_policy

EVERYTHING = Policy(statements=(Statement(effect="Allow", actions=("*",), resources=("*",)),))
REQUEST = AuthorizationRequest("dynamodb:GetItem", "*")
TRUST_POLICY = parse_policy(
    {"Statement": {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}}, kind="trust"
)


def policy_with(*conditions: Condition) -> Policy:
    statement = Statement(effect="Allow", actions=("*",), resources=("*",), conditions=conditions)
    return Policy(statements=(statement,))


@pytest.mark.parametrize(
    "context",
    [
        {"x:a": "1", "X:A": "2"},
        {"x:a": cast("ContextValue", 5)},
        {cast("str", 5): "1"},
    ],
    ids=["two spellings", "a number", "a number for a key"],
)
def test_a_request_that_cannot_be_evaluated_is_denied_and_logged(
    context: dict[str, ContextValue], caplog: pytest.LogCaptureFixture
) -> None:
    policies = Policies(
        (EVERYTHING, policy_with(Condition("ForAllValues:StringEquals", "x:a", ("1",)))), session=(CONDITIONAL_POLICY,)
    )
    assert evaluate(policies, AuthorizationRequest("x:Do", "*", context)) == Denied("identity")
    assert "could not be evaluated" in caplog.text


CONDITIONAL_POLICY = policy_with(Condition("ForAllValues:StringEquals", "x:a", ("1",)))


def test_a_trust_policy_that_cannot_be_evaluated_allows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    request = AuthorizationRequest("sts:AssumeRole", "*", {"x:a": "1", "X:a": "1"})
    assert evaluate_trust(TRUST_POLICY, Principal(account="000000000000"), request) == Denied("resource")
    assert "could not be evaluated" in caplog.text


def test_an_empty_boundary_or_session_allows_nothing() -> None:
    assert evaluate(Policies((EVERYTHING,)), REQUEST) == Allowed(StatementId("identity", 0, 0))
    assert evaluate(Policies((EVERYTHING,), session=()), REQUEST) == Denied("session")
    assert evaluate(Policies((EVERYTHING,), boundary=()), REQUEST) == Denied("boundary")


@pytest.mark.parametrize(
    "statement",
    [
        Statement(effect="Allow", actions=("*",)),
        Statement(effect="Allow", resources=("*",)),
        Statement(effect="Allow"),
    ],
    ids=["no resource", "no action", "neither"],
)
def test_a_statement_without_actions_or_resources_applies_to_nothing(statement: Statement) -> None:
    assert evaluate(Policies((Policy(statements=(statement,)),)), REQUEST) == Denied("identity")


def test_an_unknown_operator_cannot_be_compiled() -> None:
    with pytest.raises(ValueError, match="StringLik"):
        Policies((policy_with(Condition("StringLik", "x:a", ("1",))),))


def test_a_trust_policy_as_a_resource_policy_allows_nothing() -> None:
    assert evaluate(Policies((TRUST_POLICY,)), AuthorizationRequest("sts:AssumeRole", "*")) == Denied("identity")
    assert evaluate(Policies((), resource=(TRUST_POLICY,)), AuthorizationRequest("sts:AssumeRole", "*")) == Denied(
        "identity"
    )


def test_an_identity_policy_as_a_resource_policy_allows_nothing() -> None:
    assert evaluate(Policies((), resource=(EVERYTHING,)), REQUEST) == Denied("identity")


def test_a_statement_id_prints_its_position() -> None:
    assert str(StatementId("session", 1, 2)) == "session[1].Statement[2]"
    assert str(StatementId("identity", 0, 3, "Own")) == "identity[0].Statement[3] (Own)"


def test_explicit_and_implicit_denials_differ() -> None:
    names: dict[Any, str] = {
        Denied("identity"): "implicit",
        Denied("identity", StatementId("identity", 0, 0)): "explicit",
    }
    assert names[Denied("identity")] == "implicit"
    assert Denied("identity", StatementId("identity", 0, 0)).is_explicit
    assert not Denied("identity").is_explicit
