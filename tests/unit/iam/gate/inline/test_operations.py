"""The gate's IAM takes, shows and drops inline policies as AWS's does, from those who may."""

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
from tests.unit.iam.gate.inline.engineless_gate import DENY, READ, WRITE, became, client, gate, put, refused, suspender

CALLS = ("put_role_policy", "get_role_policy", "delete_role_policy")


@pytest.fixture(scope="module")
def standing() -> Iterator[Gate]:
    with gate() as running:
        yield running


@pytest.fixture
def desk(standing: Gate) -> Gate:
    standing.account = Account.from_definitions(ROLES, Deployment())
    return standing


def filled(characters: int) -> str:
    """A policy of that many characters, and many blanks besides."""
    bare = json.dumps({**json.loads(DENY), "Id": ""}, separators=(",", ":"))
    text = bare.replace('"Id":""', f'"Id":"{"x" * (characters - len(bare))}"')
    assert len(text) == characters
    return text.replace(",", " ,\n\t ")


def test_what_is_put_is_shown_as_it_was_until_it_is_deleted(desk: Gate) -> None:
    iam = suspender(desk)
    put(iam, name="a.b+c=d,e@f-g_h", document=DENY)
    shown = iam.get_role_policy(RoleName=READ, PolicyName="a.b+c=d,e@f-g_h")
    assert (shown["RoleName"], shown["PolicyName"]) == (READ, "a.b+c=d,e@f-g_h")
    assert shown["PolicyDocument"] == json.loads(DENY)
    assert desk.account.inline_policies == {READ: {"a.b+c=d,e@f-g_h": DENY}}
    iam.delete_role_policy(RoleName=READ, PolicyName="a.b+c=d,e@f-g_h")
    assert desk.account.inline_policies == {}
    with refused("NoSuchEntity", 404, "The role policy with name a.b+c=d,e@f-g_h cannot be found."):
        iam.get_role_policy(RoleName=READ, PolicyName="a.b+c=d,e@f-g_h")


def test_policies_of_one_name_replace_each_other_and_those_of_two_stand_together(desk: Gate) -> None:
    iam, other = suspender(desk), DENY.replace("Deny", "Allow")
    put(iam, name="one")
    put(iam, name="two")
    put(iam, name="one", document=other)
    put(iam, role=WRITE, name="one")
    assert desk.account.inline_policies == {READ: {"one": other, "two": DENY}, WRITE: {"one": DENY}}


def test_what_is_not_there_cannot_be_deleted(desk: Gate) -> None:
    with refused("NoSuchEntity", 404, "The role policy with name one cannot be found."):
        suspender(desk).delete_role_policy(RoleName=READ, PolicyName="one")


@pytest.mark.parametrize("name", [READ, f"{READ}-boundary", "tenant-read", ""])
def test_the_deployed_policy_has_no_name_by_which_it_could_be_replaced_or_deleted(desk: Gate, name: str) -> None:
    iam, before = suspender(desk), desk.account.role("tenant-read").policies
    if name:
        put(iam, name=name)
        iam.delete_role_policy(RoleName=READ, PolicyName=name)
        with refused("NoSuchEntity", 404):
            iam.delete_role_policy(RoleName=READ, PolicyName=name)
    else:
        with refused("ValidationError", 400, "policyName"):
            put(iam, name=name)
    assert desk.account.role("tenant-read").policies == before


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
def test_what_is_no_policy_is_refused_and_changes_nothing(desk: Gate, document: str) -> None:
    with refused("MalformedPolicyDocument", 400):
        put(suspender(desk), document=document)
    assert desk.account.inline_policies == {}


@pytest.mark.parametrize("name", ["a b", "a/b", "*", "x" * 129, "ä"])
def test_what_is_no_name_is_refused(desk: Gate, name: str) -> None:
    with refused("ValidationError", 400, "'policyName' failed to satisfy constraint"):
        put(suspender(desk), name=name)


def test_what_is_not_said_is_missed(desk: Gate) -> None:
    with refused("ValidationError", 400, "2 validation errors detected: Value null at 'policyName'"):
        suspender(desk).put_role_policy(RoleName=READ)


def test_the_policies_of_a_role_have_room_for_10240_characters_together_without_blanks(desk: Gate) -> None:
    iam = suspender(desk)
    room = MAX_INLINE_SIZE - desk.account.role("tenant-read").inline_size
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
def test_the_suspender_reaches_no_role_but_the_two_not_even_to_learn_whether_it_is_there(
    desk: Gate, call: str, role: str
) -> None:
    arguments = {"PolicyDocument": DENY} if call.startswith("put") else {}
    with refused("AccessDenied", 403, f"on resource: role keyfence-{role} because no identity-based policy allows"):
        getattr(suspender(desk), call)(RoleName=f"keyfence-{role}", PolicyName="one", **arguments)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("role", ["service-base", "migrator", "provisioner", "stream-worker"])
def test_nobody_but_the_suspender_may(desk: Gate, call: str, role: str) -> None:
    iam = client(desk, desk.sessions.issue_service_session(role).credentials)
    arguments = {"PolicyDocument": DENY} if call.startswith("put") else {}
    with refused("AccessDenied", 403, f"assumed-role/keyfence-{role}/local is not authorized to perform: iam:"):
        getattr(iam, call)(RoleName=READ, PolicyName="one", **arguments)


@pytest.mark.parametrize("role", ["tenant-read", "tenant-write"])
def test_a_tenant_may_not_either_and_the_refusal_is_kept(desk: Gate, role: str) -> None:
    desk.denials.clear()
    with refused("AccessDenied", 403):
        client(desk, became(desk, role, tenant="acme")).delete_role_policy(RoleName=READ, PolicyName="one")
    (denial,) = desk.denials
    assert (denial.operation, denial.action) == ("DeleteRolePolicy", "iam:DeleteRolePolicy")
    assert denial.resource == Deployment().role_arn("tenant-read")


@pytest.mark.parametrize("other", [None, "tenant-write", "tenant-read-of-old"])
def test_a_role_that_has_lost_its_boundary_is_not_written_to_but_may_be_looked_at(
    desk: Gate, other: str | None
) -> None:
    put(suspender(desk))
    arn = other and Deployment().boundary_arn(other)
    desk.account = desk.account.with_role(replace(desk.account.role("tenant-read"), boundary_arn=arn))
    with refused("AccessDenied", 403):
        put(suspender(desk), document=DENY.replace("Deny", "Allow"))
    with refused("AccessDenied", 403):
        suspender(desk).delete_role_policy(RoleName=READ, PolicyName="one")
    assert suspender(desk).get_role_policy(RoleName=READ, PolicyName="one")["PolicyDocument"] == json.loads(DENY)


def test_the_migrator_becomes_the_suspender_too(desk: Gate) -> None:
    put(client(desk, became(desk, "suspender", by="migrator")))
    assert list(desk.account.inline_policies) == [READ]


def test_iam_is_signed_for_where_it_is_global_in_whatever_region_the_table_is() -> None:
    with gate(account=Account.from_definitions(ROLES, Deployment(region="eu-west-1"))) as elsewhere:
        put(suspender(elsewhere))
        with refused("SignatureDoesNotMatch", 403, "Credential should be scoped to a valid region."):
            put(suspender(elsewhere, region="eu-west-1"))
        client(elsewhere, became(elsewhere, "suspender"), "sts", "eu-west-1").get_caller_identity()


def test_another_call_of_iam_is_unknown_here(desk: Gate) -> None:
    with refused("InvalidAction", 400, "Could not find operation ListUsers for version 2010-05-08"):
        suspender(desk).list_users()


def test_a_request_that_is_lost_changes_nothing_and_an_answer_that_is_lost_changes_all(desk: Gate) -> None:
    iam = suspender(desk)
    before: tuple[FaultKind, ...] = ("lost_request", "error", "throttle")
    for kind in (*before, "lost_response"):
        desk.faults = (Fault(kind=kind, service="iam", operation="PutRolePolicy", nth=1),)
        with pytest.raises(Exception, match=r"closed|ServiceFailure|Throttling"):
            put(iam)
        assert desk.account.inline_policies == ({} if kind in before else {READ: {"one": DENY}})
    desk.faults = ()


def test_what_cannot_be_kept_does_not_hold() -> None:
    def full(_: object) -> None:
        raise OSError("the disk is full")

    with gate(save_role_policies=full) as forgetful:
        with refused("ServiceFailure", 500, "the disk is full"):
            put(suspender(forgetful))
        assert forgetful.account.inline_policies == {}


def test_what_is_kept_is_told_whole_each_time() -> None:
    told: list[object] = []
    with gate(save_role_policies=told.append) as keeping:
        iam = suspender(keeping)
        put(iam)
        put(iam, role=WRITE)
        iam.delete_role_policy(RoleName=READ, PolicyName="one")
    assert told == [{READ: {"one": DENY}}, {READ: {"one": DENY}, WRITE: {"one": DENY}}, {WRITE: {"one": DENY}}]


def test_an_account_takes_back_what_one_kept_and_forgets_roles_that_are_gone() -> None:
    kept = {READ: {"one": DENY}, "keyfence-of-old": {"one": DENY}}
    assert Account.from_definitions(ROLES, Deployment()).with_inline_policies(kept).inline_policies == {
        READ: {"one": DENY}
    }
