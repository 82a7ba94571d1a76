"""A suspension denies exactly the given tenants on both tenant roles, or raises."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.faults import Fault, FaultKind
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES
from keyfence_iam.suspension import SuspensionFailed, TenantSuspension, TooManySuspended
from keyfence_iam.suspension.deny_policies import deny_tenants_policy
from keyfence_iam.suspension.iam_client import POLICY_NAME
from keyfence_iam.tenant import InvalidTenantId, TenantId
from tests.iam.gate.iam_api.engineless_gate import (
    DENY,
    READ,
    WRITE,
    assumed_credentials,
    gate,
    put,
    suspender,
)

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
MANY = [TenantId(f"tenant-with-a-rather-long-id-{number:03}") for number in range(1000)]


@pytest.fixture
def running_gate() -> Iterator[Gate]:
    with gate() as running:
        yield running


def connected(gate: Gate, **how: str) -> TenantSuspension:
    given = {"endpoint_url": gate.url, "region": "eu-west-1", **how}
    return TenantSuspension.connect(assumed_credentials(gate, "suspender"), "keyfence-", **given)


def inline_policies_by_role(gate: Gate) -> dict[str, object]:
    """Returns the inline policies of each role that has any."""
    return {
        role.name: tuple(policy.policy for policy in role.inline_policies.values())
        for role in gate.account.roles.values()
        if role.inline_policies
    }


def test_both_tenant_roles_deny_the_tenants_and_no_other_role_does(running_gate: Gate) -> None:
    connected(running_gate).deny([GLOBEX, ACME, GLOBEX])
    policy = (deny_tenants_policy([ACME, GLOBEX]),)
    assert inline_policies_by_role(running_gate) == {READ: policy, WRITE: policy}
    assert list(running_gate.account.inline_policies[READ]) == [POLICY_NAME]


def test_each_call_replaces_the_whole_list(running_gate: Gate) -> None:
    one = connected(running_gate)
    one.deny([ACME])
    one.deny(iter([GLOBEX]))
    assert one.denied_tenants() == {GLOBEX}
    one.deny([GLOBEX])
    assert inline_policies_by_role(running_gate) == {
        READ: (deny_tenants_policy([GLOBEX]),),
        WRITE: (deny_tenants_policy([GLOBEX]),),
    }


def test_an_empty_list_deletes_the_policy_and_can_be_repeated(running_gate: Gate) -> None:
    one = connected(running_gate)
    one.deny([])
    one.deny([ACME])
    one.deny([])
    one.deny([])
    assert running_gate.account.inline_policies == {}
    assert one.denied_tenants() == frozenset()


def test_only_tenants_that_both_roles_deny_count_as_denied(running_gate: Gate) -> None:
    one = connected(running_gate)
    one.deny([ACME, GLOBEX])
    suspender(running_gate).delete_role_policy(RoleName=WRITE, PolicyName=POLICY_NAME)
    assert one.denied_tenants() == frozenset()


def test_a_list_that_does_not_fit_raises_too_many_suspended_and_changes_nothing(running_gate: Gate) -> None:
    one = connected(running_gate)
    one.deny([ACME])
    before = running_gate.account.inline_policies
    with pytest.raises(TooManySuspended, match="1000 suspended tenants has"):
        one.deny(MANY)
    assert running_gate.account.inline_policies == before
    one.deny(MANY[:150])
    assert len(one.denied_tenants()) == 150


def test_a_list_that_other_policies_leave_no_room_for_raises_too_many_suspended(running_gate: Gate) -> None:
    large = DENY.replace('"*"', '"{}"'.format("s3:" + "x" * 8000), 1)
    put(suspender(running_gate), name="other", document=large)
    with pytest.raises(TooManySuspended, match=f"{READ} has no room for 50 suspended tenants"):
        connected(running_gate).deny(MANY[:50])


def test_an_invalid_tenant_id_is_rejected(running_gate: Gate) -> None:
    with pytest.raises(InvalidTenantId):
        connected(running_gate).deny([TenantId("*")])
    assert running_gate.account.inline_policies == {}


def test_a_missing_role_is_an_error_and_not_an_empty_list(running_gate: Gate) -> None:
    roles = {name: role for name, role in running_gate.account.roles.items() if name != WRITE}
    one = connected(running_gate)
    running_gate.account = replace(running_gate.account, roles=roles)
    for tenants in ([], [ACME]):
        with pytest.raises(SuspensionFailed):
            one.deny(tenants)
    with pytest.raises(SuspensionFailed):
        one.denied_tenants()


def test_a_role_without_its_boundary_is_not_changed(running_gate: Gate) -> None:
    running_gate.account = running_gate.account.with_role(
        replace(running_gate.account.get_role("tenant-read"), boundary_arn=None)
    )
    with pytest.raises(SuspensionFailed, match=r"IAM rejects the call for .*AccessDenied"):
        connected(running_gate).deny([ACME])


def test_other_roles_cannot_suspend_tenants(running_gate: Gate) -> None:
    other = TenantSuspension.connect(
        assumed_credentials(running_gate, "control-plane"), "keyfence-", endpoint_url=running_gate.url
    )
    with pytest.raises(SuspensionFailed, match=r"IAM rejects the call for .*AccessDenied"):
        other.deny([ACME])


def test_an_iam_endpoint_that_does_not_answer_raises_suspension_failed(running_gate: Gate) -> None:
    with pytest.raises(SuspensionFailed, match="IAM cannot be reached"):
        connected(running_gate, endpoint_url="http://127.0.0.1:1").deny([ACME])


@pytest.mark.parametrize("kind", ["throttle", "error", "lost_response", "lost_request"])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_call_that_fails_once_is_retried(running_gate: Gate, kind: FaultKind, nth: int) -> None:
    running_gate.faults = (Fault(kind=kind, service="iam", nth=nth),)
    connected(running_gate).deny([ACME])
    assert connected(running_gate).denied_tenants() == {ACME}


def test_a_deletion_whose_response_was_lost_succeeds(running_gate: Gate) -> None:
    one = connected(running_gate)
    one.deny([ACME])
    running_gate.faults = (Fault(kind="lost_response", service="iam", operation="DeleteRolePolicy", every=2),)
    one.deny([])
    assert running_gate.account.inline_policies == {}


def test_the_roles_have_the_prefix_of_the_deployment() -> None:
    with gate(account=Account.from_definitions(ROLES, Deployment(role_prefix="shop-"))) as other:
        TenantSuspension.connect(assumed_credentials(other, "suspender"), "shop-", endpoint_url=other.url).deny([ACME])
        assert list(other.account.inline_policies) == ["shop-tenant-read", "shop-tenant-write"]


def test_a_missing_aws_profile_in_the_environment_is_ignored(
    running_gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    connected(running_gate).deny([ACME])
