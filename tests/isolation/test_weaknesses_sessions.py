"""Weaknesses of sessions, by tags, trust policies, other policies and time. Each is absent in Keyfence's roles."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keyfence_iam.credentials import Credentials
from keyfence_iam.evaluator.decision import Allowed
from keyfence_iam.evaluator.evaluation_logic import Policies, evaluate
from keyfence_iam.evaluator.request import AuthorizationRequest
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.http.query_protocol import QueryError
from keyfence_iam.policy import Policy, parse_policy
from keyfence_iam.roles import ROLES
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_spec import SessionScope, SessionSpec
from keyfence_iam.suspension.deny_policies import deny_sessions_before, deny_tenants_policy
from keyfence_iam.tenant import TenantId
from tests.isolation.sample_sessions import (
    NOON,
    OWN_PARTITIONS,
    allowing,
    authorization_requests,
    fenced,
    get,
    reaches,
    session,
)
from tests.isolation.session_evaluator import DEPLOYMENT, finding_names

A1, A10 = "TENANT#a1#USER#1", "TENANT#a10#USER#1"
OUR_ACCOUNT = Account.from_definitions(ROLES, DEPLOYMENT)
TENANT_ROLES = ("tenant-read", "tenant-write", "tenant-migration")

each_role = pytest.mark.parametrize("role", ["tenant-read", "tenant-write"])


def account_with_open_trust(role: str, **changed: Any) -> Account:
    """Returns our account with a role that trusts every session of service-base."""
    principal = {"Effect": "Allow", "Principal": {"AWS": DEPLOYMENT.role_arn("service-base")}}
    statement = {**principal, "Action": ["sts:AssumeRole", "sts:TagSession"]}
    trust = parse_policy({"Version": "2012-10-17", "Statement": [statement]}, kind="trust")
    return _account_limited_by_trust_only(
        OUR_ACCOUNT.with_role(replace(OUR_ACCOUNT.get_role(role), trust=trust, **changed))
    )


def _account_limited_by_trust_only(account: Account) -> Account:
    """Returns an account where only the trust policy decides: service-base may assume any role with any tags."""
    assume_anything = allowing(["sts:AssumeRole", "sts:TagSession"], None, "*")
    return account.with_role(replace(account.get_role("service-base"), deployed_policies=(assume_anything,)))


@each_role
def test_H8_a_trust_policy_without_conditions_allows_sessions_without_a_tag_and_ours_does_not(role: str) -> None:
    untagged = session(role, tags={}, account=account_with_open_trust(role))
    assert not reaches(untagged, get(A1)), "without the tag, the condition on leading keys denies the call"
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags={}, account=_account_limited_by_trust_only(OUR_ACCOUNT))
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags={}, account=OUR_ACCOUNT)
    assert "tag-not-required" in finding_names(account_with_open_trust(role).get_role(role).trust)


@each_role
def test_H9_a_trust_policy_without_a_value_check_allows_an_empty_tag_and_ours_does_not(role: str) -> None:
    open_policies = (fenced("TENANT#${aws:PrincipalTag/tenant}*"),)
    weak_account = account_with_open_trust(role, deployed_policies=open_policies, boundary=None)
    assert reaches(session(role, tags={"tenant": ""}, account=weak_account), get(A10))
    bounded = account_with_open_trust(role, deployed_policies=open_policies)
    assert not reaches(session(role, tags={"tenant": ""}, account=bounded), get(A10))
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags={"tenant": ""}, account=_account_limited_by_trust_only(OUR_ACCOUNT))
    assert reaches(session(role, tags={"tenant": "a1"}, account=_account_limited_by_trust_only(OUR_ACCOUNT)), get(A1))


@each_role
def test_H10_untagged_sessions_inherit_a_tag_of_the_role_and_ours_has_none_and_requires_a_session_tag(
    role: str,
) -> None:
    weak_account = account_with_open_trust(role, tags={"tenant": "a10"})
    assert reaches(session(role, tags={}, account=weak_account), get(A10))
    tagged = _account_limited_by_trust_only(
        OUR_ACCOUNT.with_role(replace(OUR_ACCOUNT.get_role(role), tags={"tenant": "a10"}))
    )
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags={}, account=tagged)
    assert not reaches(session(role, tags={"tenant": "a1"}, account=tagged), get(A10))
    assert all(found.tags == {} for found in OUR_ACCOUNT.roles.values())


@each_role
@pytest.mark.parametrize("spelling", ["Tenant", "TENANT"])
def test_H11_tag_keys_ignore_case_in_conditions_and_our_trust_policy_accepts_one_spelling(
    role: str, spelling: str
) -> None:
    assert reaches(session(role, tags={spelling: "a1"}, account=account_with_open_trust(role)), get(A1))
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags={spelling: "a1"}, account=_account_limited_by_trust_only(OUR_ACCOUNT))
    assert "tag-key-spelling" in finding_names(fenced(OWN_PARTITIONS.replace("tenant", spelling)))


@each_role
def test_H11_our_trust_policy_accepts_no_second_tag(role: str) -> None:
    two_tags = {"tenant": "a1", "team": "red"}
    assert session(role, tags=two_tags, account=account_with_open_trust(role)).tags == two_tags
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags=two_tags, account=_account_limited_by_trust_only(OUR_ACCOUNT))


def test_H22_a_resource_policy_that_names_the_session_overrides_its_session_policy_and_our_table_has_none() -> None:
    own_session = session(tags={"tenant": "a1"})
    (request,) = authorization_requests(get(A10))
    weak_policy = _table_policy("Allow", own_session.arn)
    nothing = allowing("dynamodb:ListTables", None, "*")
    narrowed = Policies(identity=own_session.role.deployed_policies, session=(nothing,))
    assert not isinstance(evaluate(narrowed, request, own_session.principal), Allowed)
    assert isinstance(evaluate(replace(narrowed, resource=(weak_policy,)), request, own_session.principal), Allowed)
    assert OUR_ACCOUNT.resource_policies == {}
    assert "session-as-principal" in finding_names(weak_policy)


def test_H23_an_allow_with_a_condition_in_a_resource_policy_limits_nobody_and_a_deny_does() -> None:
    own_session = session(tags={"tenant": "a1"})
    (request,) = authorization_requests(get(A10))
    tagged = AuthorizationRequest(
        request.action, request.resource, {**request.context, "aws:PrincipalTag/tenant": "a1"}
    )
    wide = Policies(identity=(allowing(),))
    condition = {"StringEquals": {"aws:PrincipalTag/tenant": "a10"}}
    weak_policy = _table_policy("Allow", DEPLOYMENT.role_arn("tenant-write"), condition)
    denial = _table_policy("Deny", "*", {"StringNotEquals": {"aws:PrincipalTag/tenant": "a10"}})
    assert isinstance(evaluate(replace(wide, resource=(weak_policy,)), tagged, own_session.principal), Allowed)
    assert not isinstance(evaluate(replace(wide, resource=(denial,)), tagged, own_session.principal), Allowed)
    assert "conditional-allow" in finding_names(weak_policy) - finding_names(denial)
    assert OUR_ACCOUNT.resource_policies == {}


async def test_H26_sessions_are_cached_by_role_tenant_and_scope_and_never_shared() -> None:
    counted = itertools.count()

    def assume(spec: SessionSpec, seconds: int) -> Credentials:
        return Credentials(f"{spec.role}/{spec.tenant}/{spec.scope}/{next(counted)}", "secret", "token")

    roles, tenants = ("tenant-read", "tenant-write"), (TenantId("a1"), TenantId("a10"))
    specs = [SessionSpec(*each) for each in itertools.product(roles, tenants, SessionScope)]
    sessions = SessionCache(assume)
    try:
        access_keys = [(await sessions.credentials(spec)).access_key for spec in (*specs, *specs)]
    finally:
        sessions.close()
    assert [key.rpartition("/")[0] for key in access_keys[:16]] == ["/".join(map(str, spec)) for spec in specs]
    assert access_keys[:16] == access_keys[16:]
    assert len(set(access_keys)) == 16


@each_role
def test_H27_a_session_stays_valid_after_a_suspension_until_the_role_has_the_deny_policy(role: str) -> None:
    of_a1, of_a10 = (session(role, tags={"tenant": tenant}) for tenant in ("a1", "a10"))
    assert reaches(of_a1, get(A1)), "a suspension without the policy does not end the session"
    account = OUR_ACCOUNT.with_policy(role, deny_tenants_policy([TenantId("a1")]))
    suspended_a1, active_a10 = (replace(issued, role=account.get_role(role)) for issued in (of_a1, of_a10))
    assert not reaches(suspended_a1, get(A1))
    assert reaches(active_a10, get(A10))


@each_role
def test_H27_a_revocation_denies_older_sessions_and_allows_new_ones(role: str) -> None:
    of_a1 = session(role, tags={"tenant": "a1"})
    after = replace(of_a1, role=of_a1.role.with_policy(deny_sessions_before(NOON + timedelta(seconds=1))))
    before = replace(of_a1, role=of_a1.role.with_policy(deny_sessions_before(NOON)))
    assert not reaches(after, get(A1))
    assert reaches(before, get(A1)), "the session was issued in that second, not before it"
    reversed_condition = {"DateGreaterThan": {"aws:TokenIssueTime": "2026-11-05T12:00:01Z"}}
    weak_policy = parse_policy({"Version": "2012-10-17", "Statement": [_deny(reversed_condition)]})
    assert reaches(replace(of_a1, role=of_a1.role.with_policy(weak_policy)), get(A1))
    assert "reversed-revocation" in finding_names(weak_policy)


def test_no_session_lasts_longer_than_an_hour() -> None:
    own_session = session(tags={"tenant": "a1"})
    assert own_session.expires_at - NOON == timedelta(hours=1)
    assert own_session.is_expired(datetime(2026, 11, 5, 13, tzinfo=UTC))


@pytest.mark.parametrize("tags", [{"tenant": "a1"}, {"team": "red"}], ids=str)
def test_the_control_plane_cannot_be_assumed_with_a_tenant_tag(tags: dict[str, str]) -> None:
    for caller_role in ("service-base", "migrator"):
        assert reaches(session("control-plane", tags={}, caller_role=caller_role), get("CONTROL#TENANT#a1"))
    with pytest.raises(QueryError, match="AccessDenied"):
        session("control-plane", tags=tags, account=_account_limited_by_trust_only(OUR_ACCOUNT))


@pytest.mark.parametrize("caller_role", ["provisioner", "control-plane", "suspender", "tenant-write", "tenant-read"])
@each_role
def test_only_trusted_roles_can_assume_tenant_roles(role: str, caller_role: str) -> None:
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags={"tenant": "a1"}, caller_role=caller_role)


@pytest.mark.parametrize(("caller_role", "role"), [("stream-worker", "tenant-write"), ("migrator", "tenant-migration")])
def test_the_stream_worker_can_assume_one_tenant_role_only(caller_role: str, role: str) -> None:
    assert reaches(session(role, tags={"tenant": "a1"}, caller_role=caller_role), get(A1))
    assert not reaches(session(role, tags={"tenant": "a1"}, caller_role=caller_role), get(A10))
    for other in {*TENANT_ROLES} - {role}:
        with pytest.raises(QueryError, match="AccessDenied"):
            session(other, tags={"tenant": "a1"}, caller_role=caller_role)


def _table_policy(effect: str, principal: str, condition: Mapping[str, object] | None = None) -> Policy:
    statement = {
        "Effect": effect,
        "Principal": {"AWS": principal},
        "Action": "dynamodb:GetItem",
        "Resource": DEPLOYMENT.table_arn,
    }
    conditioned = statement | ({"Condition": condition} if condition else {})
    return parse_policy({"Version": "2012-10-17", "Statement": [conditioned]}, kind="resource")


def _deny(condition: Mapping[str, object]) -> dict[str, object]:
    return {"Effect": "Deny", "Action": "*", "Resource": "*", "Condition": condition}
