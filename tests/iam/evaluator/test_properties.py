"""Properties that hold for every policy and every request."""

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

MANY_EXAMPLES = examples(200)
IDENTITY_POLICIES = st.lists(policies(), max_size=3).map(tuple)
ALLOW_POLICIES = st.lists(policies(effect="Allow"), min_size=1, max_size=3).map(tuple)


def is_allowed(decision: Decision) -> bool:
    return isinstance(decision, Allowed)


@MANY_EXAMPLES
@given(IDENTITY_POLICIES, policies(effect="Deny"), REQUESTS)
def test_adding_a_deny_never_allows_more(
    identity: tuple[Policy, ...], deny: Policy, request: AuthorizationRequest
) -> None:
    if not is_allowed(evaluate(Policies(identity), request)):
        assert not is_allowed(evaluate(Policies((*identity, deny)), request))
        assert not is_allowed(evaluate(Policies((deny, *identity)), request))


@MANY_EXAMPLES
@given(ALLOW_POLICIES, policies(), REQUESTS)
def test_a_session_policy_never_allows_more(
    identity: tuple[Policy, ...], session: Policy, request: AuthorizationRequest
) -> None:
    if is_allowed(evaluate(Policies(identity, session=(session,)), request)):
        assert is_allowed(evaluate(Policies(identity), request))


@MANY_EXAMPLES
@given(ALLOW_POLICIES, policies(), REQUESTS)
def test_a_boundary_never_allows_more(
    identity: tuple[Policy, ...], boundary: Policy, request: AuthorizationRequest
) -> None:
    if is_allowed(evaluate(Policies(identity, (boundary,)), request)):
        assert is_allowed(evaluate(Policies(identity), request))


@MANY_EXAMPLES
@given(ALLOW_POLICIES, policies(effect="Allow"), REQUESTS)
def test_adding_an_allow_never_denies_more(
    identity: tuple[Policy, ...], added: Policy, request: AuthorizationRequest
) -> None:
    if is_allowed(evaluate(Policies(identity), request)):
        assert is_allowed(evaluate(Policies((*identity, added)), request))


@MANY_EXAMPLES
@given(IDENTITY_POLICIES, REQUESTS)
def test_the_order_of_policies_does_not_change_the_decision(
    identity: tuple[Policy, ...], request: AuthorizationRequest
) -> None:
    assert is_allowed(evaluate(Policies(identity), request)) == is_allowed(evaluate(Policies(identity[::-1]), request))


@MANY_EXAMPLES
@given(
    policies(has_variables=False).filter(lambda one: not names_a_tag(one)),
    st.sampled_from(ACTIONS),
    st.sampled_from(RESOURCES),
    st.sampled_from(["a", "a1", "*", ""]),
)
def test_a_policy_without_variables_does_not_depend_on_tags(
    policy: Policy, action: str, resource: str, tenant: str
) -> None:
    without_tag = AuthorizationRequest(action, resource, {"x:n": "5"})
    with_tag = AuthorizationRequest(action, resource, {"x:n": "5", "aws:PrincipalTag/tenant": tenant})
    assert evaluate(Policies((policy,)), without_tag) == evaluate(Policies((policy,)), with_tag)


def names_a_tag(policy: Policy) -> bool:
    return any("PrincipalTag" in condition.key for statement in policy.statements for condition in statement.conditions)


@MANY_EXAMPLES
@given(IDENTITY_POLICIES, REQUESTS)
def test_the_case_of_the_action_does_not_change_the_decision(
    identity: tuple[Policy, ...], request: AuthorizationRequest
) -> None:
    in_upper_case = AuthorizationRequest(request.action.upper(), request.resource, request.context)
    assert evaluate(Policies(identity), request) == evaluate(Policies(identity), in_upper_case)


@MANY_EXAMPLES
@given(IDENTITY_POLICIES, REQUESTS)
def test_the_case_of_condition_keys_does_not_change_the_decision(
    identity: tuple[Policy, ...], request: AuthorizationRequest
) -> None:
    in_upper_case = {key.upper(): value for key, value in request.context.items()}
    answer = evaluate(Policies(identity), AuthorizationRequest(request.action, request.resource, in_upper_case))
    assert evaluate(Policies(identity), request) == answer


@MANY_EXAMPLES
@given(IDENTITY_POLICIES, policies(), policies(), REQUESTS)
def test_every_request_can_be_evaluated(
    identity: tuple[Policy, ...], boundary: Policy, session: Policy, request: AuthorizationRequest
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.getLogger("keyfence_iam.evaluator.evaluation_logic"), "exception", pytest.fail)
        assert isinstance(evaluate(Policies(identity, (boundary,), (session,)), request), Allowed | Denied)


@MANY_EXAMPLES
@given(IDENTITY_POLICIES, REQUESTS)
def test_an_explanation_agrees_with_the_decision(identity: tuple[Policy, ...], request: AuthorizationRequest) -> None:
    explanation = explain(Policies(identity), request)
    applying = [statement for statement in explanation.statements if statement.applies]
    denying = [statement for statement in applying if statement.effect == "Deny"]
    assert is_allowed(explanation.decision) == (bool(applying) and not denying)
    assert (isinstance(explanation.decision, Denied) and explanation.decision.is_explicit) == bool(denying)


@MANY_EXAMPLES
@given(policies())
def test_a_policy_survives_a_round_trip_through_json(policy: Policy) -> None:
    assert parse_policy(policy.as_json()) == policy
