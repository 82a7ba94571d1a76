"""A suspension denies exactly its tenants on both tenant roles, or raises an error."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.fault_definition import Fault, FaultKind
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES
from keyfence_iam.suspension import SuspensionFailed, TenantSuspension, TooManySuspended
from keyfence_iam.suspension.deny_policies import deny_tenants_policy
from keyfence_iam.suspension.iam_client import POLICY_NAME
from keyfence_iam.tenant import InvalidTenantId, TenantId
from tests.iam.gate.iam_api.engineless_gate import (
    DENY_POLICY,
    READ_ROLE,
    WRITE_ROLE,
    assumed_credentials,
    put_policy,
    start_gate,
    suspender_client,
)

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
LONG_TENANT_IDS = [TenantId(f"tenant-with-a-rather-long-id-{number:03}") for number in range(1000)]


@pytest.fixture
def running_gate() -> Iterator[Gate]:
    with start_gate() as running:
        yield running


def connect_suspension(gate: Gate, **options: str) -> TenantSuspension:
    arguments = {"endpoint_url": gate.url, "region": "eu-west-1", **options}
    return TenantSuspension.connect(assumed_credentials(gate, "suspender"), "keyfence-", **arguments)


def inline_policies_by_role(gate: Gate) -> dict[str, object]:
    """Returns the inline policies of each role that has any."""
    return {
        role.name: tuple(policy.policy for policy in role.inline_policies.values())
        for role in gate.account.roles.values()
        if role.inline_policies
    }


def test_both_tenant_roles_deny_the_tenants_and_no_other_role_does(running_gate: Gate) -> None:
    connect_suspension(running_gate).deny([GLOBEX, ACME, GLOBEX])
    policy = (deny_tenants_policy([ACME, GLOBEX]),)
    assert inline_policies_by_role(running_gate) == {READ_ROLE: policy, WRITE_ROLE: policy}
    assert list(running_gate.account.inline_policies[READ_ROLE]) == [POLICY_NAME]


def test_each_call_replaces_the_whole_list(running_gate: Gate) -> None:
    suspension = connect_suspension(running_gate)
    suspension.deny([ACME])
    suspension.deny(iter([GLOBEX]))
    assert suspension.denied_tenants() == {GLOBEX}
    suspension.deny([GLOBEX])
    assert inline_policies_by_role(running_gate) == {
        READ_ROLE: (deny_tenants_policy([GLOBEX]),),
        WRITE_ROLE: (deny_tenants_policy([GLOBEX]),),
    }


def test_an_empty_list_deletes_the_policy_and_can_be_repeated(running_gate: Gate) -> None:
    suspension = connect_suspension(running_gate)
    suspension.deny([])
    suspension.deny([ACME])
    suspension.deny([])
    suspension.deny([])
    assert running_gate.account.inline_policies == {}
    assert suspension.denied_tenants() == frozenset()


def test_a_tenant_that_only_one_role_denies_does_not_count_as_denied(running_gate: Gate) -> None:
    suspension = connect_suspension(running_gate)
    suspension.deny([ACME, GLOBEX])
    suspender_client(running_gate).delete_role_policy(RoleName=WRITE_ROLE, PolicyName=POLICY_NAME)
    assert suspension.denied_tenants() == frozenset()


def test_too_many_tenants_raise_an_error_and_change_nothing(running_gate: Gate) -> None:
    suspension = connect_suspension(running_gate)
    suspension.deny([ACME])
    before = running_gate.account.inline_policies
    with pytest.raises(TooManySuspended, match="1000 suspended tenants has"):
        suspension.deny(LONG_TENANT_IDS)
    assert running_gate.account.inline_policies == before
    suspension.deny(LONG_TENANT_IDS[:150])
    assert len(suspension.denied_tenants()) == 150


def test_tenants_that_do_not_fit_beside_other_policies_raise_an_error(running_gate: Gate) -> None:
    large = DENY_POLICY.replace('"*"', '"{}"'.format("s3:" + "x" * 8000), 1)
    put_policy(suspender_client(running_gate), name="other", document=large)
    with pytest.raises(TooManySuspended, match=f"{READ_ROLE} has no room for 50 suspended tenants"):
        connect_suspension(running_gate).deny(LONG_TENANT_IDS[:50])


def test_an_invalid_tenant_id_is_rejected(running_gate: Gate) -> None:
    with pytest.raises(InvalidTenantId):
        connect_suspension(running_gate).deny([TenantId("*")])
    assert running_gate.account.inline_policies == {}


def test_a_missing_role_raises_an_error(running_gate: Gate) -> None:
    roles = {name: role for name, role in running_gate.account.roles.items() if name != WRITE_ROLE}
    suspension = connect_suspension(running_gate)
    running_gate.account = replace(running_gate.account, roles=roles)
    for tenants in ([], [ACME]):
        with pytest.raises(SuspensionFailed):
            suspension.deny(tenants)
    with pytest.raises(SuspensionFailed):
        suspension.denied_tenants()


def test_a_role_without_its_boundary_is_not_changed(running_gate: Gate) -> None:
    running_gate.account = running_gate.account.with_role(
        replace(running_gate.account.get_role("tenant-read"), boundary_arn=None)
    )
    with pytest.raises(SuspensionFailed, match=r"IAM rejects the call for .*AccessDenied"):
        connect_suspension(running_gate).deny([ACME])


def test_other_roles_cannot_suspend_tenants(running_gate: Gate) -> None:
    other = TenantSuspension.connect(
        assumed_credentials(running_gate, "control-plane"), "keyfence-", endpoint_url=running_gate.url
    )
    with pytest.raises(SuspensionFailed, match=r"IAM rejects the call for .*AccessDenied"):
        other.deny([ACME])


def test_an_iam_endpoint_that_does_not_answer_raises_suspension_failed(running_gate: Gate) -> None:
    with pytest.raises(SuspensionFailed, match="IAM cannot be reached"):
        connect_suspension(running_gate, endpoint_url="http://127.0.0.1:1").deny([ACME])


@pytest.mark.parametrize("kind", ["throttle", "error", "lost_response", "lost_request"])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_call_that_fails_once_is_retried(running_gate: Gate, kind: FaultKind, nth: int) -> None:
    running_gate.faults = (Fault(kind=kind, service="iam", nth=nth),)
    connect_suspension(running_gate).deny([ACME])
    assert connect_suspension(running_gate).denied_tenants() == {ACME}


def test_a_deletion_whose_response_was_lost_succeeds(running_gate: Gate) -> None:
    suspension = connect_suspension(running_gate)
    suspension.deny([ACME])
    running_gate.faults = (Fault(kind="lost_response", service="iam", operation="DeleteRolePolicy", every=2),)
    suspension.deny([])
    assert running_gate.account.inline_policies == {}


def test_the_role_prefix_of_the_deployment_is_used() -> None:
    with start_gate(account=Account.from_definitions(ROLES, Deployment(role_prefix="shop-"))) as other:
        TenantSuspension.connect(assumed_credentials(other, "suspender"), "shop-", endpoint_url=other.url).deny([ACME])
        assert list(other.account.inline_policies) == ["shop-tenant-read", "shop-tenant-write"]


def test_a_missing_aws_profile_in_the_environment_is_ignored(
    running_gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "missing-profile")
    connect_suspension(running_gate).deny([ACME])
