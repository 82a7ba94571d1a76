"""The gate's IAM API puts, returns and deletes inline policies as AWS does, for callers that are allowed."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.faults import Fault, FaultKind
from keyfence_iam.gate.gate import Gate
from keyfence_iam.policy.document import MAX_INLINE_SIZE
from keyfence_iam.roles import ROLES
from tests.iam.gate.iam_api.engineless_gate import (
    DENY,
    READ,
    WRITE,
    assumed_credentials,
    client,
    gate,
    put,
    refused,
    suspender,
)

CALLS = ("put_role_policy", "get_role_policy", "delete_role_policy")


@pytest.fixture(scope="module")
def running_gate() -> Iterator[Gate]:
    with gate() as running:
        yield running


@pytest.fixture
def fresh_gate(running_gate: Gate) -> Gate:
    running_gate.account = Account.from_definitions(ROLES, Deployment())
    return running_gate


def filled(characters: int) -> str:
    """Returns a policy of this many characters, plus white space."""
    bare = json.dumps({**json.loads(DENY), "Id": ""}, separators=(",", ":"))
    text = bare.replace('"Id":""', f'"Id":"{"x" * (characters - len(bare))}"')
    assert len(text) == characters
    return text.replace(",", " ,\n\t ")


def test_a_policy_is_returned_as_it_was_put_until_it_is_deleted(fresh_gate: Gate) -> None:
    iam = suspender(fresh_gate)
    put(iam, name="a.b+c=d,e@f-g_h", document=DENY)
    shown = iam.get_role_policy(RoleName=READ, PolicyName="a.b+c=d,e@f-g_h")
    assert (shown["RoleName"], shown["PolicyName"]) == (READ, "a.b+c=d,e@f-g_h")
    assert shown["PolicyDocument"] == json.loads(DENY)
    assert fresh_gate.account.inline_policies == {READ: {"a.b+c=d,e@f-g_h": DENY}}
    iam.delete_role_policy(RoleName=READ, PolicyName="a.b+c=d,e@f-g_h")
    assert fresh_gate.account.inline_policies == {}
    with refused("NoSuchEntity", 404, "The role policy with name a.b+c=d,e@f-g_h cannot be found."):
        iam.get_role_policy(RoleName=READ, PolicyName="a.b+c=d,e@f-g_h")


def test_a_policy_replaces_the_one_with_the_same_name_only(fresh_gate: Gate) -> None:
    iam, other = suspender(fresh_gate), DENY.replace("Deny", "Allow")
    put(iam, name="one")
    put(iam, name="two")
    put(iam, name="one", document=other)
    put(iam, role=WRITE, name="one")
    assert fresh_gate.account.inline_policies == {READ: {"one": other, "two": DENY}, WRITE: {"one": DENY}}


def test_a_missing_policy_cannot_be_deleted(fresh_gate: Gate) -> None:
    with refused("NoSuchEntity", 404, "The role policy with name one cannot be found."):
        suspender(fresh_gate).delete_role_policy(RoleName=READ, PolicyName="one")


@pytest.mark.parametrize("name", [READ, f"{READ}-boundary", "tenant-read", ""])
def test_the_deployed_policy_has_no_name_by_which_it_could_be_replaced_or_deleted(fresh_gate: Gate, name: str) -> None:
    iam, before = suspender(fresh_gate), fresh_gate.account.get_role("tenant-read").policies
    if name:
        put(iam, name=name)
        iam.delete_role_policy(RoleName=READ, PolicyName=name)
        with refused("NoSuchEntity", 404):
            iam.delete_role_policy(RoleName=READ, PolicyName=name)
    else:
        with refused("ValidationError", 400, "policyName"):
            put(iam, name=name)
    assert fresh_gate.account.get_role("tenant-read").policies == before


@pytest.mark.parametrize(
    "document",
    [
        "{",
        "[]",
        '{"Version": "2012-10-17"}',
        DENY.replace("Deny", "Forbid"),
        DENY.replace('"Action"', '"Actions"'),
        DENY.replace('"Resource": "*"', '"Resource": "*", "Principal": "*"'),
    ],
    ids=["half", "a list", "no statement", "no effect", "a misspelt element", "a principal"],
)
def test_an_invalid_policy_is_rejected_and_changes_nothing(fresh_gate: Gate, document: str) -> None:
    with refused("MalformedPolicyDocument", 400):
        put(suspender(fresh_gate), document=document)
    assert fresh_gate.account.inline_policies == {}


@pytest.mark.parametrize("name", ["a b", "a/b", "*", "x" * 129, "ä"])
def test_an_invalid_policy_name_is_rejected(fresh_gate: Gate, name: str) -> None:
    with refused("ValidationError", 400, "'policyName' failed to satisfy constraint"):
        put(suspender(fresh_gate), name=name)


def test_missing_parameters_are_reported(fresh_gate: Gate) -> None:
    with refused("ValidationError", 400, "2 validation errors detected: Value null at 'policyName'"):
        suspender(fresh_gate).put_role_policy(RoleName=READ)


def test_the_policies_of_a_role_have_10240_characters_together_without_white_space(fresh_gate: Gate) -> None:
    iam = suspender(fresh_gate)
    room = MAX_INLINE_SIZE - fresh_gate.account.get_role("tenant-read").inline_size
    put(iam, name="one", document=filled(room - 1000))
    put(iam, name="two", document=filled(1000))
    with refused("LimitExceeded", 409, f"Maximum policy size of 10240 bytes exceeded for role {READ}"):
        put(iam, name="two", document=filled(1001))
    with refused("LimitExceeded", 409):
        put(iam, name="three", document=DENY)
    put(iam, role=WRITE, name="three", document=DENY)
    put(iam, name="two", document=filled(999))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "role", ["tenant-migration", "service-base", "control-plane", "migrator", "provisioner", "suspender", "nobody"]
)
def test_the_suspender_reaches_only_the_two_tenant_roles(fresh_gate: Gate, call: str, role: str) -> None:
    arguments = {"PolicyDocument": DENY} if call.startswith("put") else {}
    with refused("AccessDenied", 403, f"on resource: role keyfence-{role} because no identity-based policy allows"):
        getattr(suspender(fresh_gate), call)(RoleName=f"keyfence-{role}", PolicyName="one", **arguments)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("role", ["service-base", "migrator", "provisioner", "stream-worker"])
def test_only_the_suspender_may_change_role_policies(fresh_gate: Gate, call: str, role: str) -> None:
    iam = client(fresh_gate, fresh_gate.sessions.issue_service_session(role).credentials)
    arguments = {"PolicyDocument": DENY} if call.startswith("put") else {}
    with refused("AccessDenied", 403, f"assumed-role/keyfence-{role}/local is not authorized to perform: iam:"):
        getattr(iam, call)(RoleName=READ, PolicyName="one", **arguments)


@pytest.mark.parametrize("role", ["tenant-read", "tenant-write"])
def test_a_tenant_is_denied_and_the_denial_is_logged(fresh_gate: Gate, role: str) -> None:
    fresh_gate.denials.clear()
    with refused("AccessDenied", 403):
        client(fresh_gate, assumed_credentials(fresh_gate, role, tenant="acme")).delete_role_policy(
            RoleName=READ, PolicyName="one"
        )
    (denial,) = fresh_gate.denials
    assert (denial.operation, denial.action) == ("DeleteRolePolicy", "iam:DeleteRolePolicy")
    assert denial.resource == Deployment().role_arn("tenant-read")


@pytest.mark.parametrize("other", [None, "tenant-write", "tenant-read-of-old"])
def test_a_role_without_its_boundary_can_be_read_but_not_changed(fresh_gate: Gate, other: str | None) -> None:
    put(suspender(fresh_gate))
    arn = other and Deployment().boundary_arn(other)
    fresh_gate.account = fresh_gate.account.with_role(
        replace(fresh_gate.account.get_role("tenant-read"), boundary_arn=arn)
    )
    with refused("AccessDenied", 403):
        put(suspender(fresh_gate), document=DENY.replace("Deny", "Allow"))
    with refused("AccessDenied", 403):
        suspender(fresh_gate).delete_role_policy(RoleName=READ, PolicyName="one")
    assert suspender(fresh_gate).get_role_policy(RoleName=READ, PolicyName="one")["PolicyDocument"] == json.loads(DENY)


def test_the_migrator_can_assume_the_suspender(fresh_gate: Gate) -> None:
    put(client(fresh_gate, assumed_credentials(fresh_gate, "suspender", by="migrator")))
    assert list(fresh_gate.account.inline_policies) == [READ]


def test_iam_requests_are_signed_for_us_east_1_in_every_region() -> None:
    with gate(account=Account.from_definitions(ROLES, Deployment(region="eu-west-1"))) as elsewhere:
        put(suspender(elsewhere))
        with refused("SignatureDoesNotMatch", 403, "Credential should be scoped to a valid region."):
            put(suspender(elsewhere, region="eu-west-1"))
        client(elsewhere, assumed_credentials(elsewhere, "suspender"), "sts", "eu-west-1").get_caller_identity()


def test_other_iam_operations_are_unknown(fresh_gate: Gate) -> None:
    with refused("InvalidAction", 400, "Could not find operation ListUsers for version 2010-05-08"):
        suspender(fresh_gate).list_users()


def test_a_lost_request_changes_nothing_and_a_lost_response_changes_the_policy(fresh_gate: Gate) -> None:
    iam = suspender(fresh_gate)
    before: tuple[FaultKind, ...] = ("lost_request", "error", "throttle")
    for kind in (*before, "lost_response"):
        fresh_gate.faults = (Fault(kind=kind, service="iam", operation="PutRolePolicy", nth=1),)
        with pytest.raises(Exception, match=r"closed|ServiceFailure|Throttling"):
            put(iam)
        assert fresh_gate.account.inline_policies == ({} if kind in before else {READ: {"one": DENY}})
    fresh_gate.faults = ()


def test_a_change_that_cannot_be_saved_does_not_take_effect() -> None:
    def full(_: object) -> None:
        raise OSError("the disk is full")

    with gate(save_role_policies=full) as forgetful:
        with refused("ServiceFailure", 500, "the disk is full"):
            put(suspender(forgetful))
        assert forgetful.account.inline_policies == {}


def test_each_change_saves_all_inline_policies() -> None:
    saved: list[object] = []
    with gate(save_role_policies=saved.append) as saving_gate:
        iam = suspender(saving_gate)
        put(iam)
        put(iam, role=WRITE)
        iam.delete_role_policy(RoleName=READ, PolicyName="one")
    assert saved == [{READ: {"one": DENY}}, {READ: {"one": DENY}, WRITE: {"one": DENY}}, {WRITE: {"one": DENY}}]


def test_saved_inline_policies_are_loaded_and_those_of_missing_roles_dropped() -> None:
    saved = {READ: {"one": DENY}, "keyfence-of-old": {"one": DENY}}
    assert Account.from_definitions(ROLES, Deployment()).with_inline_policies(saved).inline_policies == {
        READ: {"one": DENY}
    }
