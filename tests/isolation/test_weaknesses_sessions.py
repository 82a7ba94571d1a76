"""Weaknesses of sessions: tags, trust, other policies and time, and what prevents each here."""

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
from tests.isolation.sample_sessions import NOON, OWN, allowing, authorization_requests, fenced, get, reaches, session
from tests.isolation.session_evaluator import DEPLOYMENT, finding_names

A1, A10 = "TENANT#a1#USER#1", "TENANT#a10#USER#1"
OURS = Account.from_definitions(ROLES, DEPLOYMENT)
TENANT_ROLES = ("tenant-read", "tenant-write", "tenant-migration")

each_role = pytest.mark.parametrize("role", ["tenant-read", "tenant-write"])


def careless(role: str, **changed: Any) -> Account:
    """Returns our account with a role that trusts every session of service-base."""
    named = {"Effect": "Allow", "Principal": {"AWS": DEPLOYMENT.role_arn("service-base")}}
    statement = {**named, "Action": ["sts:AssumeRole", "sts:TagSession"]}
    trust = parse_policy({"Version": "2012-10-17", "Statement": [statement]}, kind="trust")
    return _unhindered(OURS.with_role(replace(OURS.get_role(role), trust=trust, **changed)))


def _unhindered(account: Account) -> Account:
    """Returns an account where only the trust policy decides: service-base may assume any role with any tags."""
    anything = allowing(["sts:AssumeRole", "sts:TagSession"], None, "*")
    return account.with_role(replace(account.get_role("service-base"), policies=(anything,)))


@each_role
def test_H8_a_trust_policy_without_conditions_allows_sessions_without_a_tag_and_ours_does_not(role: str) -> None:
    untagged = session(role, tags={}, account=careless(role))
    assert not reaches(untagged, get(A1)), "the fence itself stays shut without the tag"
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags={}, account=_unhindered(OURS))
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags={}, account=OURS)
    assert "tag-not-required" in finding_names(careless(role).get_role(role).trust)


@each_role
def test_H9_a_trust_policy_without_a_value_check_allows_an_empty_tag_and_ours_does_not(role: str) -> None:
    loose = (fenced("TENANT#${aws:PrincipalTag/tenant}*"),)
    bad = careless(role, policies=loose, boundary=None)
    assert reaches(session(role, tags={"tenant": ""}, account=bad), get(A10))
    bounded = careless(role, policies=loose)
    assert not reaches(session(role, tags={"tenant": ""}, account=bounded), get(A10))
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags={"tenant": ""}, account=_unhindered(OURS))
    assert reaches(session(role, tags={"tenant": "a1"}, account=_unhindered(OURS)), get(A1))


@each_role
def test_H10_untagged_sessions_inherit_a_tag_of_the_role_and_ours_has_none_and_requires_a_session_tag(
    role: str,
) -> None:
    bad = careless(role, tags={"tenant": "a10"})
    assert reaches(session(role, tags={}, account=bad), get(A10))
    tagged = _unhindered(OURS.with_role(replace(OURS.get_role(role), tags={"tenant": "a10"})))
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags={}, account=tagged)
    assert not reaches(session(role, tags={"tenant": "a1"}, account=tagged), get(A10))
    assert all(found.tags == {} for found in OURS.roles.values())


@each_role
@pytest.mark.parametrize("spelled", ["Tenant", "TENANT"])
def test_H11_tag_keys_ignore_case_in_conditions_and_our_trust_policy_accepts_one_spelling(
    role: str, spelled: str
) -> None:
    assert reaches(session(role, tags={spelled: "a1"}, account=careless(role)), get(A1))
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags={spelled: "a1"}, account=_unhindered(OURS))
    assert "tag-key-spelling" in finding_names(fenced(OWN.replace("tenant", spelled)))


@each_role
def test_H11_our_trust_policy_accepts_no_second_tag(role: str) -> None:
    two = {"tenant": "a1", "team": "red"}
    assert session(role, tags=two, account=careless(role)).tags == two
    with pytest.raises(QueryError, match="AccessDenied"):
        session(role, tags=two, account=_unhindered(OURS))


def test_H22_a_resource_policy_that_names_the_session_overrides_its_session_policy_and_our_table_has_none() -> None:
    one = session(tags={"tenant": "a1"})
    (asked,) = authorization_requests(get(A10))
    bad = _on_the_table("Allow", one.arn)
    nothing = allowing("dynamodb:ListTables", None, "*")
    narrowed = Policies(identity=one.role.policies, session=(nothing,))
    assert not isinstance(evaluate(narrowed, asked, one.principal), Allowed)
    assert isinstance(evaluate(replace(narrowed, resource=(bad,)), asked, one.principal), Allowed)
    assert OURS.resource_policies == {}
    assert "session-named" in finding_names(bad)


def test_H23_an_allow_with_a_condition_in_a_resource_policy_limits_nobody_and_a_deny_does() -> None:
    one = session(tags={"tenant": "a1"})
    (asked,) = authorization_requests(get(A10))
    tagged = AuthorizationRequest(asked.action, asked.resource, {**asked.context, "aws:PrincipalTag/tenant": "a1"})
    wide = Policies(identity=(allowing(),))
    condition = {"StringEquals": {"aws:PrincipalTag/tenant": "a10"}}
    bad = _on_the_table("Allow", DEPLOYMENT.role_arn("tenant-write"), condition)
    denial = _on_the_table("Deny", "*", {"StringNotEquals": {"aws:PrincipalTag/tenant": "a10"}})
    assert isinstance(evaluate(replace(wide, resource=(bad,)), tagged, one.principal), Allowed)
    assert not isinstance(evaluate(replace(wide, resource=(denial,)), tagged, one.principal), Allowed)
    assert "conditional-allow" in finding_names(bad) - finding_names(denial)
    assert OURS.resource_policies == {}


async def test_H26_sessions_are_cached_by_role_tenant_and_scope_and_never_shared() -> None:
    counted = itertools.count()

    def assume(spec: SessionSpec, seconds: int) -> Credentials:
        return Credentials(f"{spec.role}/{spec.tenant}/{spec.scope}/{next(counted)}", "secret", "token")

    roles, tenants = ("tenant-read", "tenant-write"), (TenantId("a1"), TenantId("a10"))
    specs = [SessionSpec(*each) for each in itertools.product(roles, tenants, SessionScope)]
    vending = SessionCache(assume)
    try:
        access_keys = [(await vending.credentials(one)).access_key for one in (*specs, *specs)]
    finally:
        vending.close()
    assert [key.rpartition("/")[0] for key in access_keys[:16]] == ["/".join(map(str, one)) for one in specs]
    assert access_keys[:16] == access_keys[16:]
    assert len(set(access_keys)) == 16


@each_role
def test_H27_a_session_stays_valid_after_a_suspension_until_the_role_has_the_deny_policy(role: str) -> None:
    of_a1, of_a10 = (session(role, tags={"tenant": tenant}) for tenant in ("a1", "a10"))
    assert reaches(of_a1, get(A1)), "nothing ends it by itself"
    account = OURS.with_policy(role, deny_tenants_policy([TenantId("a1")]))
    now = [replace(one, role=account.get_role(role)) for one in (of_a1, of_a10)]
    assert [reaches(one, get(own)) for one, own in zip(now, (A1, A10), strict=True)] == [False, True]


@each_role
def test_H27_a_revocation_denies_older_sessions_and_allows_new_ones(role: str) -> None:
    of_a1 = session(role, tags={"tenant": "a1"})
    after = replace(of_a1, role=of_a1.role.with_policy(deny_sessions_before(NOON + timedelta(seconds=1))))
    before = replace(of_a1, role=of_a1.role.with_policy(deny_sessions_before(NOON)))
    assert not reaches(after, get(A1))
    assert reaches(before, get(A1)), "it was issued at that second, not before it"
    turned = {"DateGreaterThan": {"aws:TokenIssueTime": "2026-11-05T12:00:01Z"}}
    bad = parse_policy({"Version": "2012-10-17", "Statement": [_deny(turned)]})
    assert reaches(replace(of_a1, role=of_a1.role.with_policy(bad)), get(A1))
    assert "reversed-revocation" in finding_names(bad)


def test_no_session_lasts_longer_than_an_hour() -> None:
    one = session(tags={"tenant": "a1"})
    assert one.expires_at - NOON == timedelta(hours=1)
    assert one.is_expired(datetime(2026, 11, 5, 13, tzinfo=UTC))


@pytest.mark.parametrize("tags", [{"tenant": "a1"}, {"team": "red"}], ids=str)
def test_the_control_plane_cannot_be_assumed_with_a_tenant_tag(tags: dict[str, str]) -> None:
    for caller_role in ("service-base", "migrator"):
        assert reaches(session("control-plane", tags={}, caller_role=caller_role), get("CONTROL#TENANT#a1"))
    with pytest.raises(QueryError, match="AccessDenied"):
        session("control-plane", tags=tags, account=_unhindered(OURS))


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


def _on_the_table(effect: str, principal: str, condition: Mapping[str, object] | None = None) -> Policy:
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
