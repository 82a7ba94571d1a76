"""Who may assume a role: the role must trust the caller, and no policy may deny it."""

from dataclasses import replace

import pytest

from keyfence_iam.gate.account.account import Role
from keyfence_iam.policy import Condition, Policy, Statement
from tests.iam.gate.sts_api.sample_account import (
    EVERYTHING,
    ROOT,
    allow,
    arn,
    assume_role,
    deny,
    error,
    new_session,
    porter,
    role,
    room,
    sessions,
    tagged,
    trust,
)


def refused(caller: Role, target: Role, **parameters: str) -> str | None:
    """Returns the denied action and the reason, if there is one. Returns None if the role was assumed."""
    one = sessions(caller, target)
    answer = assume_role(one, one.issue_service_session("porter").session, **parameters)
    if answer.status == 200:
        return None
    status, code, message = error(answer)
    assert (status, code) == (403, "AccessDenied")
    user, _, rest = message.partition(" is not authorized to perform: ")
    assert user == "User: arn:aws:sts::000000000000:assumed-role/porter/local"
    action, _, resource = rest.partition(f" on resource: {arn('room')}")
    return action + resource


def test_a_role_that_does_not_trust_the_caller_is_not_assumed() -> None:
    assert refused(porter(allow("*")), room(arn("somebody"))) == "sts:AssumeRole"


def test_a_missing_role_is_denied_like_one_that_does_not_trust() -> None:
    one = sessions(porter(allow("*")), room())
    answer = assume_role(one, one.issue_service_session("porter").session, RoleArn=arn("cellar"))
    assert error(answer) == (
        403,
        "AccessDenied",
        "User: arn:aws:sts::000000000000:assumed-role/porter/local is not authorized to perform: "
        f"sts:AssumeRole on resource: {arn('cellar')}",
    )


def test_trust_in_the_callers_role_suffices() -> None:
    assert refused(porter(), room(arn("porter"))) is None


def test_trust_in_the_very_session_suffices() -> None:
    assert refused(porter(), room("arn:aws:sts::000000000000:assumed-role/porter/local")) is None
    assert refused(porter(), room("arn:aws:sts::000000000000:assumed-role/porter/other")) == "sts:AssumeRole"


@pytest.mark.parametrize("account", [ROOT, "000000000000"])
def test_trust_in_the_account_also_needs_the_callers_own_policies(account: str) -> None:
    assert refused(porter(), room(account)) == "sts:AssumeRole"
    assert refused(porter(allow("sts:AssumeRole", resources=(arn("other"),))), room(account)) == "sts:AssumeRole"
    assert refused(porter(allow("sts:AssumeRole", resources=(arn("room"),))), room(account)) is None


def test_trust_in_another_account_does_not_count() -> None:
    assert refused(porter(allow("*")), room("arn:aws:iam::111122223333:root")) == "sts:AssumeRole"


def test_an_explicit_deny_in_the_callers_policies_denies() -> None:
    denial = refused(porter(deny("sts:AssumeRole")), room(arn("porter")))
    assert denial == "sts:AssumeRole with an explicit deny in an identity-based policy"


def test_an_explicit_deny_in_the_trust_policy_denies() -> None:
    everybody = Statement(effect="Deny", principals={"AWS": ("*",)}, actions=("sts:AssumeRole",))
    both = Policy(statements=(*trust(arn("porter")).statements, everybody))
    denial = refused(porter(allow("*")), role("room", both))
    assert denial == "sts:AssumeRole with an explicit deny in a resource-based policy"


def test_the_callers_boundary_limits_the_roles_it_can_assume() -> None:
    assert refused(porter(allow("*"), boundary=(allow("dynamodb:*"),)), room(arn("porter"))) == "sts:AssumeRole"


def test_the_callers_session_policy_limits_the_roles_it_can_assume() -> None:
    one = sessions(porter(allow("*")), room(arn("porter"), arn("room")))
    for policy, status in (("dynamodb:*", 403), ("sts:AssumeRole", 200)):
        text = f'{{"Version":"2012-10-17","Statement":{{"Effect":"Allow","Action":"{policy}","Resource":"*"}}}}'
        narrow = new_session(one, assume_role(one, one.issue_service_session("porter").session, Policy=text))
        target = room(arn("room"))
        one.replace_account(one.account.with_role(replace(target, policies=(allow("*"),))))
        assert assume_role(one, narrow).status == status
        one.replace_account(one.account.with_role(room(arn("porter"), arn("room"))))


def test_tags_need_sts_tag_session() -> None:
    untagging = role("room", trust(arn("porter"), actions=("sts:AssumeRole",)))
    assert refused(porter(allow("*")), untagging) is None
    assert refused(porter(allow("*")), untagging, **tagged(("tenant", "acme"))) == "sts:TagSession"


def test_a_source_identity_needs_sts_set_source_identity() -> None:
    plain = role("room", trust(arn("porter"), actions=("sts:AssumeRole", "sts:TagSession")))
    assert refused(porter(allow("*")), plain, SourceIdentity="alice") == "sts:SetSourceIdentity"


@pytest.mark.parametrize(
    ("operator", "key", "value", "parameters", "assumed"),
    [
        ("StringLike", "aws:RequestTag/tenant", "?*", tagged(("tenant", "acme")), True),
        ("StringLike", "aws:RequestTag/tenant", "?*", tagged(("tenant", "")), False),
        ("StringLike", "aws:RequestTag/tenant", "?*", tagged(("Tenant", "acme")), True),
        ("StringLike", "aws:RequestTag/tenant", "?*", {}, False),
        ("ForAllValues:StringEquals", "aws:TagKeys", "tenant", tagged(("tenant", "acme"), ("x", "y")), False),
        ("ForAllValues:StringEquals", "aws:TagKeys", "tenant", tagged(("tenant", "acme")), True),
        ("Null", "aws:TagKeys", "false", {}, False),
        ("Null", "aws:TagKeys", "true", {}, True),
        ("Null", "sts:TransitiveTagKeys", "true", tagged(("tenant", "acme")), True),
        (
            "Null",
            "sts:TransitiveTagKeys",
            "true",
            {**tagged(("tenant", "acme")), "TransitiveTagKeys__member__1": "tenant"},
            False,
        ),
        ("StringEquals", "sts:RoleSessionName", "night", {}, True),
        ("StringEquals", "sts:RoleSessionName", "day", {}, False),
        ("StringEquals", "sts:ExternalId", "word", {"ExternalId": "word"}, True),
        ("StringEquals", "sts:ExternalId", "word", {"ExternalId": "guess"}, False),
        ("StringEquals", "sts:ExternalId", "word", {}, False),
        ("StringEquals", "sts:SourceIdentity", "alice", {"SourceIdentity": "alice"}, True),
        ("StringEquals", "sts:SourceIdentity", "alice", {"SourceIdentity": "mallory"}, False),
        ("StringEquals", "aws:PrincipalTag/staff", "yes", {}, True),
        ("StringEquals", "aws:PrincipalTag/staff", "no", {}, False),
        ("IpAddress", "aws:SourceIp", "192.0.2.0/24", {}, True),
        ("IpAddress", "aws:SourceIp", "198.51.100.0/24", {}, False),
    ],
)
def test_a_trust_policy_sees_the_request_and_the_caller(
    operator: str, key: str, value: str, parameters: dict[str, str], assumed: bool
) -> None:
    conditions = (Condition(operator, key, (value,)),)
    target = role("room", trust(arn("porter"), actions=EVERYTHING, conditions=conditions))
    outcome = refused(porter(tags={"staff": "yes"}), target, **parameters)
    assert (outcome is None) == assumed
