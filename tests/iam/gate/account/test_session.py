"""A session has the current policies of its role, and the tags and the expiry of its token."""

from dataclasses import replace

import pytest

from keyfence_iam.deployment import Deployment
from keyfence_iam.evaluator.decision import Allowed, Denied
from keyfence_iam.evaluator.evaluation_logic import evaluate
from keyfence_iam.evaluator.request import AuthorizationRequest
from keyfence_iam.gate.account.account import Account, NoSuchRole
from keyfence_iam.gate.account.session import Session, SessionIssuer
from keyfence_iam.gate.account.session_token import InvalidSessionToken
from keyfence_iam.policy import Policy
from keyfence_iam.roles import ROLES
from tests.iam.gate.sts_api.sample_account import (
    NOW,
    ROOT,
    Times,
    allow,
    arn,
    assume_role,
    deny,
    new_session,
    porter,
    role,
    room,
    tagged,
    trust,
)
from tests.iam.gate.sts_api.sample_account import sessions as of_roles

READ = AuthorizationRequest("dynamodb:GetItem", "arn:aws:dynamodb:us-east-1:000000000000:table/keyfence")


def context(session: Session) -> dict[str, object]:
    return dict(session.context(NOW, source_ip="192.0.2.7", secure_transport=False, region="us-east-1"))


def test_the_account_has_every_role_that_is_deployed() -> None:
    account = Account.from_definitions(ROLES, Deployment(account="111122223333", role_prefix="prod-"))
    assert set(account.roles) == {f"prod-{name}" for name in ROLES}
    assert account.get_role("tenant-read") is account.get_role("prod-tenant-read")
    assert account.get_role("tenant-read").arn == "arn:aws:iam::111122223333:role/prod-tenant-read"


@pytest.mark.parametrize("name", sorted(ROLES))
def test_a_role_has_the_policies_that_are_deployed(name: str) -> None:
    deployment, definition = Deployment(table="other"), ROLES[name]
    role = Account.from_definitions(ROLES, deployment).get_role(name)
    assert (role.policies, role.trust) == ((definition.identity(deployment),), definition.trust(deployment))
    assert role.max_session_seconds == definition.max_session_seconds


def test_an_unknown_role_is_named_in_the_error() -> None:
    with pytest.raises(NoSuchRole, match="'tenant-raed'; its roles are keyfence-control-plane"):
        Account.from_definitions(ROLES, Deployment()).get_role("tenant-raed")


def test_role_ids_look_like_those_of_aws_and_are_stable() -> None:
    ids = [one.id for one in Account.from_definitions(ROLES, Deployment()).roles.values()]
    assert ids == [one.id for one in Account.from_definitions(ROLES, Deployment()).roles.values()]
    assert len(set(ids)) == len(ids)
    assert all(id.startswith("AROA") and len(id) == 21 and id.isalnum() for id in ids)


def test_a_service_session_has_the_context_of_its_role() -> None:
    session = of_roles(porter()).issue_service_session("porter", name="task-1").session
    assert context(session) == {
        "aws:PrincipalArn": arn("porter"),
        "aws:PrincipalAccount": "000000000000",
        "aws:PrincipalType": "AssumedRole",
        "aws:userid": f"{session.role.id}:task-1",
        "aws:TokenIssueTime": "2026-11-16T12:00:00Z",
        "aws:CurrentTime": "2026-11-16T12:00:00Z",
        "aws:EpochTime": "1794830400",
        "aws:SourceIp": "192.0.2.7",
        "aws:SecureTransport": "false",
        "aws:RequestedRegion": "us-east-1",
    }
    assert session.arn == "arn:aws:sts::000000000000:assumed-role/porter/task-1"
    assert session.principal.session_arn == session.arn


def test_session_tags_replace_role_tags_in_any_case() -> None:
    one = of_roles(porter(), room(tags={"Tenant": "of the role", "floor": "3"}))
    session = new_session(
        one, assume_role(one, one.issue_service_session("porter").session, **tagged(("tenant", "acme")))
    )
    tags = {key: value for key, value in context(session).items() if key.startswith("aws:PrincipalTag/")}
    assert tags == {"aws:PrincipalTag/tenant": "acme", "aws:PrincipalTag/floor": "3"}


def test_a_session_without_the_tag_has_that_of_the_role() -> None:
    one = of_roles(porter(), room(tags={"tenant": "of the role"}))
    session = new_session(one, assume_role(one, one.issue_service_session("porter").session))
    assert context(session)["aws:PrincipalTag/tenant"] == "of the role"


def test_another_process_with_the_same_key_accepts_the_session_and_one_with_another_key_does_not() -> None:
    roles = (porter(), room())
    issued = of_roles(*roles).issue_service_session("porter")
    access_key, token = issued.credentials.access_key, issued.credentials.token or ""
    assert of_roles(*roles).get(access_key, token) == issued.session
    assert of_roles(*roles).secret_key_of(access_key) == issued.credentials.secret_key
    with pytest.raises(InvalidSessionToken):
        SessionIssuer(of_roles(*roles).account, b"x" * 32).get(access_key, token)


def test_a_new_policy_of_the_role_applies_to_live_sessions() -> None:
    one = of_roles(role("reader", trust(ROOT), allow("dynamodb:*")))
    issued = one.issue_service_session("reader")
    assert isinstance(evaluate(issued.session.policies_for(), READ, issued.session.principal), Allowed)
    before = one.account
    one.replace_account(before.with_policy("reader", deny("*")))
    again = one.get(issued.credentials.access_key, issued.credentials.token or "")
    assert isinstance(evaluate(again.policies_for(), READ, again.principal), Denied)
    assert len(before.get_role("reader").policies) == 1


def test_a_recreated_role_does_not_get_the_sessions_of_the_old_one() -> None:
    one = of_roles(porter())
    issued = one.issue_service_session("porter")
    one.replace_account(one.account.with_role(replace(porter(), id="AROAANOTHERONE")))
    with pytest.raises(InvalidSessionToken, match="no longer exists"):
        one.get(issued.credentials.access_key, issued.credentials.token or "")


def test_a_deleted_managed_session_policy_allows_nothing() -> None:
    managed = {"arn:aws:iam::000000000000:policy/reads": allow("dynamodb:GetItem")}
    one = of_roles(porter(), room(), managed_policies=managed)
    answer = assume_role(
        one, one.issue_service_session("porter").session, PolicyArns__member__1__arn=next(iter(managed))
    )
    session = new_session(one, answer)
    assert isinstance(evaluate(session.policies_for(), READ, session.principal), Allowed)
    one.replace_account(replace(one.account, managed_policies={}))
    session = new_session(one, answer)
    assert evaluate(session.policies_for(), READ, session.principal) == Denied("session")


def test_boundary_and_resource_policies_are_included() -> None:
    bounded = role("reader", trust(ROOT), allow("dynamodb:*"), boundary=(allow("s3:*"),))
    session = of_roles(bounded).issue_service_session("reader").session
    assert evaluate(session.policies_for(), READ, session.principal) == Denied("boundary")
    unbounded = of_roles(role("reader", trust(ROOT), allow("dynamodb:*"))).issue_service_session("reader").session
    statements = tuple(replace(one, effect="Deny", resources=("*",)) for one in trust("*", actions=("*",)).statements)
    refused = evaluate(unbounded.policies_for((Policy(statements=statements),)), READ, unbounded.principal)
    assert isinstance(refused, Denied)
    assert refused.policy_type == "resource"


def test_a_service_session_lasts_as_long_as_its_role_allows() -> None:
    clock = Times()
    session = of_roles(porter(max_session_seconds=7200), clock=clock).issue_service_session("porter").session
    clock.advance(7199)
    assert not session.is_expired(clock.now)
    clock.advance(1)
    assert session.is_expired(clock.now)
