"""Local sessions follow the trust policies of the roles."""

from dataclasses import replace

import pytest

from keyfence.local import gate_access
from keyfence.local.role_credentials import boto_session_for
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.account.session_token import new_gate_key
from keyfence_iam.gate.http.query_protocol import QueryError
from keyfence_iam.policy import Policy
from keyfence_iam.roles import ROLES
from keyfence_iam.tenant import TenantId

ACME = TenantId("acme")


@pytest.fixture
def sessions() -> SessionIssuer:
    return SessionIssuer(Account.from_definitions(ROLES, Deployment()), new_gate_key())


@pytest.mark.parametrize(("may_write", "role"), [(False, "keyfence-tenant-read"), (True, "keyfence-tenant-write")])
def test_a_tenants_session_has_the_role_and_the_tag_of_the_tenant(
    sessions: SessionIssuer, may_write: bool, role: str
) -> None:
    issued = gate_access.tenant_session(sessions, ACME, may_write=may_write, seconds=1200)
    assert (issued.session.role.name, issued.session.tags) == (role, {"tenant": "acme"})
    assert (issued.session.expires_at - issued.session.claims.issued_at).total_seconds() == 1200


@pytest.mark.parametrize("name", ["service-base", "control-plane", "stream-worker", "migrator", "provisioner"])
def test_a_session_of_another_role_has_no_tenant_tag(sessions: SessionIssuer, name: str) -> None:
    session = gate_access.role_session(sessions, name).session
    assert (session.role.name, session.tags) == (f"keyfence-{name}", {})


def test_a_role_that_does_not_trust_the_service_cannot_be_assumed(sessions: SessionIssuer) -> None:
    role = sessions.account.get_role("tenant-write")
    sessions.replace_account(sessions.account.with_role(replace(role, trust=Policy(statements=()))))
    with pytest.raises(QueryError, match="AccessDenied"):
        gate_access.tenant_session(sessions, ACME, may_write=True)


def test_a_boto_session_of_a_role_ignores_the_environment(
    sessions: SessionIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOFTHEENVIRONMENT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    found = boto_session_for("service-base", sessions).get_credentials()
    assert found
    frozen = found.get_frozen_credentials()
    assert frozen.access_key
    assert frozen.token
    assert sessions.get(frozen.access_key, frozen.token).role.name == "keyfence-service-base"
