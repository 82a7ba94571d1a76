"""Properties of every policy and every request."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.evaluator.decision import Allowed, Decision, Denied
from keyfence_iam.evaluator.evaluation_logic import Policies, evaluate
from keyfence_iam.evaluator.explanation import explain
from keyfence_iam.evaluator.request import AuthorizationRequest
from keyfence_iam.policy import Policy, parse_policy
from tests.iam.evaluator.strategies import ACTIONS, REQUESTS, RESOURCES, policies
from tests.tier import examples

MANY = examples(200)
IDENTITY = st.lists(policies(), max_size=3).map(tuple)
GRANTING = st.lists(policies(effect="Allow"), min_size=1, max_size=3).map(tuple)


def allowed(decision: Decision) -> bool:
    return isinstance(decision, Allowed)


@MANY
@given(IDENTITY, policies(effect="Deny"), REQUESTS)
def test_adding_a_deny_never_widens(identity: tuple[Policy, ...], deny: Policy, asked: AuthorizationRequest) -> None:
    if not allowed(evaluate(Policies(identity), asked)):
        assert not allowed(evaluate(Policies((*identity, deny)), asked))
        assert not allowed(evaluate(Policies((deny, *identity)), asked))


@MANY
@given(GRANTING, policies(), REQUESTS)
def test_a_session_policy_never_widens(
    identity: tuple[Policy, ...], session: Policy, asked: AuthorizationRequest
) -> None:
    if allowed(evaluate(Policies(identity, session=(session,)), asked)):
        assert allowed(evaluate(Policies(identity), asked))


@MANY
@given(GRANTING, policies(), REQUESTS)
def test_a_boundary_never_widens(identity: tuple[Policy, ...], boundary: Policy, asked: AuthorizationRequest) -> None:
    if allowed(evaluate(Policies(identity, (boundary,)), asked)):
        assert allowed(evaluate(Policies(identity), asked))


@MANY
@given(GRANTING, policies(effect="Allow"), REQUESTS)
def test_adding_an_allow_never_narrows(identity: tuple[Policy, ...], more: Policy, asked: AuthorizationRequest) -> None:
    if allowed(evaluate(Policies(identity), asked)):
        assert allowed(evaluate(Policies((*identity, more)), asked))


@MANY
@given(IDENTITY, REQUESTS)
def test_the_order_of_policies_does_not_decide(identity: tuple[Policy, ...], asked: AuthorizationRequest) -> None:
    assert allowed(evaluate(Policies(identity), asked)) == allowed(evaluate(Policies(identity[::-1]), asked))


@MANY
@given(
    policies(has_variables=False).filter(lambda one: not names_a_tag(one)),
    st.sampled_from(ACTIONS),
    st.sampled_from(RESOURCES),
    st.sampled_from(["a", "a1", "*", ""]),
)
def test_a_policy_without_variables_does_not_depend_on_tags(
    policy: Policy, action: str, resource: str, tenant: str
) -> None:
    bare = AuthorizationRequest(action, resource, {"x:n": "5"})
    tagged = AuthorizationRequest(action, resource, {"x:n": "5", "aws:PrincipalTag/tenant": tenant})
    assert evaluate(Policies((policy,)), bare) == evaluate(Policies((policy,)), tagged)


def names_a_tag(policy: Policy) -> bool:
    return any("PrincipalTag" in condition.key for said in policy.statements for condition in said.conditions)


@MANY
@given(IDENTITY, REQUESTS)
def test_the_case_of_the_action_does_not_decide(identity: tuple[Policy, ...], asked: AuthorizationRequest) -> None:
    shouted = AuthorizationRequest(asked.action.upper(), asked.resource, asked.context)
    assert evaluate(Policies(identity), asked) == evaluate(Policies(identity), shouted)


@MANY
@given(IDENTITY, REQUESTS)
def test_the_case_of_the_keys_does_not_decide(identity: tuple[Policy, ...], asked: AuthorizationRequest) -> None:
    shouted = {key.upper(): value for key, value in asked.context.items()}
    answer = evaluate(Policies(identity), AuthorizationRequest(asked.action, asked.resource, shouted))
    assert evaluate(Policies(identity), asked) == answer


@MANY
@given(IDENTITY, policies(), policies(), REQUESTS)
def test_nothing_fails_to_be_evaluated(
    identity: tuple[Policy, ...], boundary: Policy, session: Policy, asked: AuthorizationRequest
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.getLogger("keyfence_iam.evaluator.evaluation_logic"), "exception", pytest.fail)
        assert isinstance(evaluate(Policies(identity, (boundary,), (session,)), asked), Allowed | Denied)


@MANY
@given(IDENTITY, REQUESTS)
def test_an_explanation_agrees_with_the_decision(identity: tuple[Policy, ...], asked: AuthorizationRequest) -> None:
    explanation = explain(Policies(identity), asked)
    applied = [said for said in explanation.statements if said.applies]
    denied = [said for said in applied if said.effect == "Deny"]
    assert allowed(explanation.decision) == (bool(applied) and not denied)
    assert (isinstance(explanation.decision, Denied) and explanation.decision.is_explicit) == bool(denied)


@MANY
@given(policies())
def test_a_policy_survives_a_round_trip_through_json(policy: Policy) -> None:
    assert parse_policy(policy.as_json()) == policy
