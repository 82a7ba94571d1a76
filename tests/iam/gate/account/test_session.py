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
from tests.iam.gate.manual_time import ManualTime
from tests.iam.gate.sts_api.sample_account import (
    NOW,
    ROOT,
    allow,
    arn,
    assume_role,
    caller_role,
    deny,
    new_session,
    role,
    session_issuer,
    tag_parameters,
    target_role,
    trust,
)

GET_ITEM = AuthorizationRequest("dynamodb:GetItem", "arn:aws:dynamodb:us-east-1:000000000000:table/keyfence")


def context(session: Session) -> dict[str, object]:
    return dict(session.context(NOW, source_ip="192.0.2.7", uses_tls=False, region="us-east-1"))


def test_the_account_has_every_role_that_is_deployed() -> None:
    account = Account.from_definitions(ROLES, Deployment(account="111122223333", role_prefix="prod-"))
    assert set(account.roles) == {f"prod-{name}" for name in ROLES}
    assert account.get_role("tenant-read") is account.get_role("prod-tenant-read")
    assert account.get_role("tenant-read").arn == "arn:aws:iam::111122223333:role/prod-tenant-read"


@pytest.mark.parametrize("name", sorted(ROLES))
def test_a_role_has_the_policies_that_are_deployed(name: str) -> None:
    deployment, definition = Deployment(table="other"), ROLES[name]
    role = Account.from_definitions(ROLES, deployment).get_role(name)
    assert (role.deployed_policies, role.trust) == ((definition.identity(deployment),), definition.trust(deployment))
    assert role.max_session_seconds == definition.max_session_seconds


def test_the_error_for_an_unknown_role_names_it() -> None:
    with pytest.raises(NoSuchRole, match="'tenant-raed'; its roles are keyfence-control-plane"):
        Account.from_definitions(ROLES, Deployment()).get_role("tenant-raed")


def test_role_ids_look_like_those_of_aws_and_are_stable() -> None:
    ids = [role.id for role in Account.from_definitions(ROLES, Deployment()).roles.values()]
    assert ids == [role.id for role in Account.from_definitions(ROLES, Deployment()).roles.values()]
    assert len(set(ids)) == len(ids)
    assert all(id.startswith("AROA") and len(id) == 21 and id.isalnum() for id in ids)


def test_a_service_session_has_the_context_of_its_role() -> None:
    session = session_issuer(caller_role()).issue_service_session("caller", name="task-1").session
    assert context(session) == {
        "aws:PrincipalArn": arn("caller"),
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
    assert session.arn == "arn:aws:sts::000000000000:assumed-role/caller/task-1"
    assert session.principal.session_arn == session.arn


def test_a_session_tag_replaces_a_role_tag_whose_key_differs_only_in_case() -> None:
    issuer = session_issuer(caller_role(), target_role(tags={"Tenant": "role-tenant", "floor": "3"}))
    session = new_session(
        issuer,
        assume_role(issuer, issuer.issue_service_session("caller").session, **tag_parameters(("tenant", "acme"))),
    )
    tags = {key: value for key, value in context(session).items() if key.startswith("aws:PrincipalTag/")}
    assert tags == {"aws:PrincipalTag/tenant": "acme", "aws:PrincipalTag/floor": "3"}


def test_a_session_without_a_tag_has_the_tag_of_its_role() -> None:
    issuer = session_issuer(caller_role(), target_role(tags={"tenant": "role-tenant"}))
    session = new_session(issuer, assume_role(issuer, issuer.issue_service_session("caller").session))
    assert context(session)["aws:PrincipalTag/tenant"] == "role-tenant"


def test_only_a_process_with_the_same_gate_key_accepts_a_session() -> None:
    roles = (caller_role(), target_role())
    issued = session_issuer(*roles).issue_service_session("caller")
    access_key, token = issued.credentials.access_key, issued.credentials.token or ""
    assert session_issuer(*roles).get(access_key, token) == issued.session
    assert session_issuer(*roles).secret_key_of(access_key) == issued.credentials.secret_key
    with pytest.raises(InvalidSessionToken):
        SessionIssuer(session_issuer(*roles).account, b"x" * 32).get(access_key, token)


def test_a_new_policy_of_the_role_applies_to_existing_sessions() -> None:
    issuer = session_issuer(role("reader", trust(ROOT), allow("dynamodb:*")))
    issued = issuer.issue_service_session("reader")
    assert isinstance(evaluate(issued.session.policies_for(), GET_ITEM, issued.session.principal), Allowed)
    before = issuer.account
    issuer.replace_account(before.with_policy("reader", deny("*")))
    session = issuer.get(issued.credentials.access_key, issued.credentials.token or "")
    assert isinstance(evaluate(session.policies_for(), GET_ITEM, session.principal), Denied)
    assert len(before.get_role("reader").deployed_policies) == 1


def test_a_recreated_role_does_not_accept_sessions_of_the_deleted_role() -> None:
    issuer = session_issuer(caller_role())
    issued = issuer.issue_service_session("caller")
    issuer.replace_account(issuer.account.with_role(replace(caller_role(), id="AROAANOTHERONE")))
    with pytest.raises(InvalidSessionToken, match="no longer exists"):
        issuer.get(issued.credentials.access_key, issued.credentials.token or "")


def test_a_deleted_managed_session_policy_allows_nothing() -> None:
    managed = {"arn:aws:iam::000000000000:policy/reads": allow("dynamodb:GetItem")}
    issuer = session_issuer(caller_role(), target_role(), managed_policies=managed)
    answer = assume_role(
        issuer, issuer.issue_service_session("caller").session, PolicyArns__member__1__arn=next(iter(managed))
    )
    session = new_session(issuer, answer)
    assert isinstance(evaluate(session.policies_for(), GET_ITEM, session.principal), Allowed)
    issuer.replace_account(replace(issuer.account, managed_policies={}))
    session = new_session(issuer, answer)
    assert evaluate(session.policies_for(), GET_ITEM, session.principal) == Denied("session")


def test_boundaries_and_resource_policies_are_evaluated() -> None:
    bounded = role("reader", trust(ROOT), allow("dynamodb:*"), boundary=(allow("s3:*"),))
    session = session_issuer(bounded).issue_service_session("reader").session
    assert evaluate(session.policies_for(), GET_ITEM, session.principal) == Denied("boundary")
    unbounded = session_issuer(role("reader", trust(ROOT), allow("dynamodb:*"))).issue_service_session("reader").session
    statements = tuple(
        replace(statement, effect="Deny", resources=("*",)) for statement in trust("*", actions=("*",)).statements
    )
    decision = evaluate(unbounded.policies_for((Policy(statements=statements),)), GET_ITEM, unbounded.principal)
    assert isinstance(decision, Denied)
    assert decision.policy_type == "resource"


def test_a_service_session_lasts_as_long_as_its_role_allows() -> None:
    clock = ManualTime(NOW)
    session = session_issuer(caller_role(max_session_seconds=7200), clock=clock).issue_service_session("caller").session
    clock.advance(seconds=7199)
    assert not session.is_expired(clock.now)
    clock.advance(seconds=1)
    assert session.is_expired(clock.now)
