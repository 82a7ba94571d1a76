"""The IAM API of the gate stores, returns and deletes inline policies as AWS does, for callers with permission."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.fault_definition import Fault, FaultKind
from keyfence_iam.gate.gate import Gate
from keyfence_iam.policy.role import MAX_INLINE_SIZE
from keyfence_iam.roles import ROLES
from tests.iam.gate.iam_api.engineless_gate import (
    DENY_POLICY,
    READ_ROLE,
    WRITE_ROLE,
    assumed_credentials,
    boto_client,
    expect_error,
    put_policy,
    start_gate,
    suspender_client,
)

CALLS = ("put_role_policy", "get_role_policy", "delete_role_policy")


@pytest.fixture(scope="module")
def running_gate() -> Iterator[Gate]:
    with start_gate() as running:
        yield running


@pytest.fixture
def fresh_gate(running_gate: Gate) -> Gate:
    running_gate.account = Account.from_definitions(ROLES, Deployment())
    return running_gate


def policy_of_size(characters: int) -> str:
    """Returns a policy of this many characters, and additional white space."""
    empty_id = json.dumps({**json.loads(DENY_POLICY), "Id": ""}, separators=(",", ":"))
    text = empty_id.replace('"Id":""', f'"Id":"{"x" * (characters - len(empty_id))}"')
    assert len(text) == characters
    return text.replace(",", " ,\n\t ")


def test_a_policy_is_returned_unchanged_until_it_is_deleted(fresh_gate: Gate) -> None:
    iam = suspender_client(fresh_gate)
    put_policy(iam, name="a.b+c=d,e@f-g_h", document=DENY_POLICY)
    returned = iam.get_role_policy(RoleName=READ_ROLE, PolicyName="a.b+c=d,e@f-g_h")
    assert (returned["RoleName"], returned["PolicyName"]) == (READ_ROLE, "a.b+c=d,e@f-g_h")
    assert returned["PolicyDocument"] == json.loads(DENY_POLICY)
    assert fresh_gate.account.inline_policies == {READ_ROLE: {"a.b+c=d,e@f-g_h": DENY_POLICY}}
    iam.delete_role_policy(RoleName=READ_ROLE, PolicyName="a.b+c=d,e@f-g_h")
    assert fresh_gate.account.inline_policies == {}
    with expect_error("NoSuchEntity", 404, "The role policy with name a.b+c=d,e@f-g_h cannot be found."):
        iam.get_role_policy(RoleName=READ_ROLE, PolicyName="a.b+c=d,e@f-g_h")


def test_a_new_policy_replaces_only_the_policy_with_the_same_name(fresh_gate: Gate) -> None:
    iam, allow_policy = suspender_client(fresh_gate), DENY_POLICY.replace("Deny", "Allow")
    put_policy(iam, name="one")
    put_policy(iam, name="two")
    put_policy(iam, name="one", document=allow_policy)
    put_policy(iam, role=WRITE_ROLE, name="one")
    assert fresh_gate.account.inline_policies == {
        READ_ROLE: {"one": allow_policy, "two": DENY_POLICY},
        WRITE_ROLE: {"one": DENY_POLICY},
    }


def test_a_missing_policy_cannot_be_deleted(fresh_gate: Gate) -> None:
    with expect_error("NoSuchEntity", 404, "The role policy with name one cannot be found."):
        suspender_client(fresh_gate).delete_role_policy(RoleName=READ_ROLE, PolicyName="one")


@pytest.mark.parametrize("name", [READ_ROLE, f"{READ_ROLE}-boundary", "tenant-read", ""])
def test_a_deployed_policy_cannot_be_replaced_or_deleted(fresh_gate: Gate, name: str) -> None:
    iam, before = suspender_client(fresh_gate), fresh_gate.account.get_role("tenant-read").deployed_policies
    if name:
        put_policy(iam, name=name)
        iam.delete_role_policy(RoleName=READ_ROLE, PolicyName=name)
        with expect_error("NoSuchEntity", 404):
            iam.delete_role_policy(RoleName=READ_ROLE, PolicyName=name)
    else:
        with expect_error("ValidationError", 400, "policyName"):
            put_policy(iam, name=name)
    assert fresh_gate.account.get_role("tenant-read").deployed_policies == before


@pytest.mark.parametrize(
    "document",
    [
        "{",
        "[]",
        '{"Version": "2012-10-17"}',
        DENY_POLICY.replace("Deny", "Forbid"),
        DENY_POLICY.replace('"Action"', '"Actions"'),
        DENY_POLICY.replace('"Resource": "*"', '"Resource": "*", "Principal": "*"'),
    ],
    ids=["half", "a list", "no statement", "no effect", "a misspelt element", "a principal"],
)
def test_an_invalid_policy_is_rejected_and_changes_nothing(fresh_gate: Gate, document: str) -> None:
    with expect_error("MalformedPolicyDocument", 400):
        put_policy(suspender_client(fresh_gate), document=document)
    assert fresh_gate.account.inline_policies == {}


@pytest.mark.parametrize("name", ["a b", "a/b", "*", "x" * 129, "ä"])
def test_an_invalid_policy_name_is_rejected(fresh_gate: Gate, name: str) -> None:
    with expect_error("ValidationError", 400, "'policyName' failed to satisfy constraint"):
        put_policy(suspender_client(fresh_gate), name=name)


def test_missing_parameters_are_reported(fresh_gate: Gate) -> None:
    with expect_error("ValidationError", 400, "2 validation errors detected: Value null at 'policyName'"):
        suspender_client(fresh_gate).put_role_policy(RoleName=READ_ROLE)


def test_the_policies_of_a_role_are_limited_to_10240_characters_without_white_space(fresh_gate: Gate) -> None:
    iam = suspender_client(fresh_gate)
    free_size = MAX_INLINE_SIZE - fresh_gate.account.get_role("tenant-read").identity_policy_size
    put_policy(iam, name="one", document=policy_of_size(free_size - 1000))
    put_policy(iam, name="two", document=policy_of_size(1000))
    with expect_error("LimitExceeded", 409, f"Maximum policy size of 10240 bytes exceeded for role {READ_ROLE}"):
        put_policy(iam, name="two", document=policy_of_size(1001))
    with expect_error("LimitExceeded", 409):
        put_policy(iam, name="three", document=DENY_POLICY)
    put_policy(iam, role=WRITE_ROLE, name="three", document=DENY_POLICY)
    put_policy(iam, name="two", document=policy_of_size(999))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "role", ["tenant-migration", "service-base", "control-plane", "migrator", "provisioner", "suspender", "nobody"]
)
def test_the_suspender_may_change_only_the_two_tenant_roles(fresh_gate: Gate, call: str, role: str) -> None:
    arguments = {"PolicyDocument": DENY_POLICY} if call.startswith("put") else {}
    with expect_error(
        "AccessDenied", 403, f"on resource: role keyfence-{role} because no identity-based policy allows"
    ):
        getattr(suspender_client(fresh_gate), call)(RoleName=f"keyfence-{role}", PolicyName="one", **arguments)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("role", ["service-base", "migrator", "provisioner", "stream-worker"])
def test_only_the_suspender_may_change_role_policies(fresh_gate: Gate, call: str, role: str) -> None:
    iam = boto_client(fresh_gate, fresh_gate.session_issuer.issue_service_session(role).credentials)
    arguments = {"PolicyDocument": DENY_POLICY} if call.startswith("put") else {}
    with expect_error("AccessDenied", 403, f"assumed-role/keyfence-{role}/local is not authorized to perform: iam:"):
        getattr(iam, call)(RoleName=READ_ROLE, PolicyName="one", **arguments)


@pytest.mark.parametrize("role", ["tenant-read", "tenant-write"])
def test_a_tenant_is_denied_and_the_denial_is_logged(fresh_gate: Gate, role: str) -> None:
    fresh_gate.denials.clear()
    with expect_error("AccessDenied", 403):
        boto_client(fresh_gate, assumed_credentials(fresh_gate, role, tenant="acme")).delete_role_policy(
            RoleName=READ_ROLE, PolicyName="one"
        )
    (denial,) = fresh_gate.denials
    assert (denial.operation, denial.action) == ("DeleteRolePolicy", "iam:DeleteRolePolicy")
    assert denial.resource == Deployment().role_arn("tenant-read")


@pytest.mark.parametrize("other", [None, "tenant-write", "tenant-read-deleted"])
def test_a_role_without_its_boundary_can_be_read_but_not_changed(fresh_gate: Gate, other: str | None) -> None:
    put_policy(suspender_client(fresh_gate))
    arn = other and Deployment().boundary_arn(other)
    fresh_gate.account = fresh_gate.account.with_role(
        replace(fresh_gate.account.get_role("tenant-read"), boundary_arn=arn)
    )
    with expect_error("AccessDenied", 403):
        put_policy(suspender_client(fresh_gate), document=DENY_POLICY.replace("Deny", "Allow"))
    with expect_error("AccessDenied", 403):
        suspender_client(fresh_gate).delete_role_policy(RoleName=READ_ROLE, PolicyName="one")
    assert suspender_client(fresh_gate).get_role_policy(RoleName=READ_ROLE, PolicyName="one")[
        "PolicyDocument"
    ] == json.loads(DENY_POLICY)


def test_the_migrator_can_assume_the_suspender(fresh_gate: Gate) -> None:
    put_policy(boto_client(fresh_gate, assumed_credentials(fresh_gate, "suspender", caller_role="migrator")))
    assert list(fresh_gate.account.inline_policies) == [READ_ROLE]


def test_iam_requests_are_signed_for_us_east_1_in_every_region() -> None:
    with start_gate(account=Account.from_definitions(ROLES, Deployment(region="eu-west-1"))) as european_gate:
        put_policy(suspender_client(european_gate))
        with expect_error("SignatureDoesNotMatch", 403, "Credential should be scoped to a valid region."):
            put_policy(suspender_client(european_gate, region="eu-west-1"))
        boto_client(
            european_gate, assumed_credentials(european_gate, "suspender"), "sts", "eu-west-1"
        ).get_caller_identity()


def test_other_iam_operations_are_unknown(fresh_gate: Gate) -> None:
    with expect_error("InvalidAction", 400, "Could not find operation ListUsers for version 2010-05-08"):
        suspender_client(fresh_gate).list_users()


def test_only_a_lost_response_leaves_the_change_in_effect(fresh_gate: Gate) -> None:
    iam = suspender_client(fresh_gate)
    faults_before_change: tuple[FaultKind, ...] = ("lost_request", "error", "throttle")
    for kind in (*faults_before_change, "lost_response"):
        fresh_gate.faults = (Fault(kind=kind, service="iam", operation="PutRolePolicy", nth=1),)
        with pytest.raises(Exception, match=r"closed|ServiceFailure|Throttling"):
            put_policy(iam)
        assert fresh_gate.account.inline_policies == (
            {} if kind in faults_before_change else {READ_ROLE: {"one": DENY_POLICY}}
        )
    fresh_gate.faults = ()


def test_a_change_that_cannot_be_saved_does_not_take_effect() -> None:
    def fail_to_save(_: object) -> None:
        raise OSError("the disk is full")

    with start_gate(save_role_policies=fail_to_save) as running_gate:
        with expect_error("ServiceFailure", 500, "the disk is full"):
            put_policy(suspender_client(running_gate))
        assert running_gate.account.inline_policies == {}


def test_each_change_saves_all_inline_policies() -> None:
    saved: list[object] = []
    with start_gate(save_role_policies=saved.append) as saving_gate:
        iam = suspender_client(saving_gate)
        put_policy(iam)
        put_policy(iam, role=WRITE_ROLE)
        iam.delete_role_policy(RoleName=READ_ROLE, PolicyName="one")
    assert saved == [
        {READ_ROLE: {"one": DENY_POLICY}},
        {READ_ROLE: {"one": DENY_POLICY}, WRITE_ROLE: {"one": DENY_POLICY}},
        {WRITE_ROLE: {"one": DENY_POLICY}},
    ]


def test_saved_inline_policies_are_loaded_except_those_of_missing_roles() -> None:
    saved = {READ_ROLE: {"one": DENY_POLICY}, "keyfence-deleted": {"one": DENY_POLICY}}
    assert Account.from_definitions(ROLES, Deployment()).with_inline_policies(saved).inline_policies == {
        READ_ROLE: {"one": DENY_POLICY}
    }
