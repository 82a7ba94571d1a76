"""The suspender shuts out exactly whom it is told to, on both roles, or says that it did not."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.faults import Fault, FaultKind
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES
from keyfence_iam.suspension import SuspensionFailed, TenantSuspension, TooManySuspended
from keyfence_iam.suspension.client import POLICY_NAME
from keyfence_iam.suspension.policy import deny_tenants_policy
from keyfence_iam.tenant import InvalidTenantId, TenantId
from tests.unit.iam.gate.role_policies.engineless_gate import DENY, READ, WRITE, became, gate, put, suspender

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
MANY = [TenantId(f"tenant-with-a-rather-long-id-{number:03}") for number in range(1000)]


@pytest.fixture
def standing() -> Iterator[Gate]:
    with gate() as running:
        yield running


def connected(gate: Gate, **how: str) -> TenantSuspension:
    given = {"endpoint_url": gate.url, "region": "eu-west-1", **how}
    return TenantSuspension.connect(became(gate, "suspender"), "keyfence-", **given)


def refusing(gate: Gate) -> dict[str, object]:
    """What the roles' inline policies say, by role."""
    return {
        role.name: tuple(policy.policy for policy in role.inline_policies.values())
        for role in gate.account.roles.values()
        if role.inline_policies
    }


def test_both_tenant_roles_deny_the_tenants_and_no_other_role_does(standing: Gate) -> None:
    connected(standing).deny([GLOBEX, ACME, GLOBEX])
    policy = (deny_tenants_policy([ACME, GLOBEX]),)
    assert refusing(standing) == {READ: policy, WRITE: policy}
    assert list(standing.account.inline_policies[READ]) == [POLICY_NAME]


def test_each_call_replaces_the_whole_list(standing: Gate) -> None:
    one = connected(standing)
    one.deny([ACME])
    one.deny(iter([GLOBEX]))
    assert one.denied_tenants() == {GLOBEX}
    one.deny([GLOBEX])
    assert refusing(standing) == {READ: (deny_tenants_policy([GLOBEX]),), WRITE: (deny_tenants_policy([GLOBEX]),)}


def test_an_empty_list_deletes_the_policy_and_can_be_repeated(standing: Gate) -> None:
    one = connected(standing)
    one.deny([])
    one.deny([ACME])
    one.deny([])
    one.deny([])
    assert standing.account.inline_policies == {}
    assert one.denied_tenants() == frozenset()


def test_only_tenants_that_both_roles_deny_count_as_denied(standing: Gate) -> None:
    one = connected(standing)
    one.deny([ACME, GLOBEX])
    suspender(standing).delete_role_policy(RoleName=WRITE, PolicyName=POLICY_NAME)
    assert one.denied_tenants() == frozenset()


def test_a_list_that_does_not_fit_raises_too_many_suspended_and_changes_nothing(standing: Gate) -> None:
    one = connected(standing)
    one.deny([ACME])
    before = standing.account.inline_policies
    with pytest.raises(TooManySuspended, match="1000 tenants take"):
        one.deny(MANY)
    assert standing.account.inline_policies == before
    one.deny(MANY[:150])
    assert len(one.denied_tenants()) == 150


def test_a_list_that_other_policies_leave_no_room_for_raises_too_many_suspended(standing: Gate) -> None:
    large = DENY.replace('"*"', '"{}"'.format("s3:" + "x" * 8000), 1)
    put(suspender(standing), name="other", document=large)
    with pytest.raises(TooManySuspended, match=f"{READ} has no room for 50 suspended tenants"):
        connected(standing).deny(MANY[:50])


def test_an_invalid_tenant_id_is_rejected(standing: Gate) -> None:
    with pytest.raises(InvalidTenantId):
        connected(standing).deny([TenantId("*")])
    assert standing.account.inline_policies == {}


def test_a_missing_role_is_an_error_and_not_an_empty_list(standing: Gate) -> None:
    roles = {name: role for name, role in standing.account.roles.items() if name != WRITE}
    one = connected(standing)
    standing.account = replace(standing.account, roles=roles)
    for tenants in ([], [ACME]):
        with pytest.raises(SuspensionFailed):
            one.deny(tenants)
    with pytest.raises(SuspensionFailed):
        one.denied_tenants()


def test_a_role_without_its_boundary_is_not_changed(standing: Gate) -> None:
    standing.account = standing.account.with_role(replace(standing.account.role("tenant-read"), boundary_arn=None))
    with pytest.raises(SuspensionFailed, match=r"IAM refuses: .*AccessDenied"):
        connected(standing).deny([ACME])


def test_other_roles_cannot_suspend_tenants(standing: Gate) -> None:
    other = TenantSuspension.connect(became(standing, "control-plane"), "keyfence-", endpoint_url=standing.url)
    with pytest.raises(SuspensionFailed, match=r"IAM refuses: .*AccessDenied"):
        other.deny([ACME])


def test_an_iam_endpoint_that_does_not_answer_raises_suspension_failed(standing: Gate) -> None:
    with pytest.raises(SuspensionFailed, match="IAM cannot be reached"):
        connected(standing, endpoint_url="http://127.0.0.1:1").deny([ACME])


@pytest.mark.parametrize("kind", ["throttle", "error", "lost_response", "lost_request"])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_call_that_fails_once_is_retried(standing: Gate, kind: FaultKind, nth: int) -> None:
    standing.faults = (Fault(kind=kind, service="iam", nth=nth),)
    connected(standing).deny([ACME])
    assert connected(standing).denied_tenants() == {ACME}


def test_a_deletion_whose_response_was_lost_succeeds(standing: Gate) -> None:
    one = connected(standing)
    one.deny([ACME])
    standing.faults = (Fault(kind="lost_response", service="iam", operation="DeleteRolePolicy", every=2),)
    one.deny([])
    assert standing.account.inline_policies == {}


def test_the_roles_have_the_prefix_of_the_deployment() -> None:
    with gate(account=Account.from_definitions(ROLES, Deployment(role_prefix="shop-"))) as other:
        TenantSuspension.connect(became(other, "suspender"), "shop-", endpoint_url=other.url).deny([ACME])
        assert list(other.account.inline_policies) == ["shop-tenant-read", "shop-tenant-write"]


def test_a_missing_aws_profile_in_the_environment_is_ignored(standing: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    connected(standing).deny([ACME])
