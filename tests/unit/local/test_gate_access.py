"""On this machine one becomes whoever the roles' own trust policies let the service become."""

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
from keyfence_iam.tenant import TenantId

ACME = TenantId("acme")


@pytest.fixture
def sessions() -> SessionIssuer:
    return SessionIssuer(Account.of(Deployment()), new_gate_key())


@pytest.mark.parametrize(("writes", "role"), [(False, "keyfence-tenant-read"), (True, "keyfence-tenant-write")])
def test_a_tenants_session_has_its_role_and_its_tag(sessions: SessionIssuer, writes: bool, role: str) -> None:
    issued = gate_access.tenant_session(sessions, ACME, writes=writes, seconds=1200)
    assert (issued.session.role.name, issued.session.tags) == (role, {"tenant": "acme"})
    assert (issued.session.expires_at - issued.session.grant.issued_at).total_seconds() == 1200


@pytest.mark.parametrize("name", ["service-base", "control-plane", "stream-worker", "migrator", "provisioner"])
def test_every_other_role_has_no_tenant(sessions: SessionIssuer, name: str) -> None:
    session = gate_access.role_session(sessions, name).session
    assert (session.role.name, session.tags) == (f"keyfence-{name}", {})


def test_a_role_that_does_not_trust_the_service_is_not_become(sessions: SessionIssuer) -> None:
    role = sessions.account.role("tenant-write")
    sessions.replace_account(sessions.account.with_role(replace(role, trust=Policy(statements=()))))
    with pytest.raises(QueryError, match="AccessDenied"):
        gate_access.tenant_session(sessions, ACME, writes=True)


def test_a_process_that_runs_as_a_role_is_that_role_and_looks_nowhere_else(
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
    assert sessions.find(frozen.access_key, frozen.token).role.name == "keyfence-service-base"
