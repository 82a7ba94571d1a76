"""A role can only be assumed if it trusts the caller and if no policy denies the call."""

from dataclasses import replace

import pytest

from keyfence_iam.gate.account.account import Role
from keyfence_iam.policy import Condition, Policy, Statement
from tests.iam.gate.sts_api.sample_account import (
    ASSUME_ACTIONS,
    ROOT,
    allow,
    arn,
    assume_role,
    caller_role,
    deny,
    error_of,
    new_session,
    role,
    session_issuer,
    tag_parameters,
    target_role,
    trust,
)


def find_denial(caller: Role, target: Role, **parameters: str) -> str | None:
    """Returns the denied action and the reason in the message. Returns None if the role was assumed."""
    issuer = session_issuer(caller, target)
    answer = assume_role(issuer, issuer.issue_service_session("caller").session, **parameters)
    if answer.status == 200:
        return None
    status, code, message = error_of(answer)
    assert (status, code) == (403, "AccessDenied")
    user, _, action_and_resource = message.partition(" is not authorized to perform: ")
    assert user == "User: arn:aws:sts::000000000000:assumed-role/caller/local"
    action, _, resource = action_and_resource.partition(f" on resource: {arn('target')}")
    return action + resource


def test_a_role_that_does_not_trust_the_caller_is_not_assumed() -> None:
    assert find_denial(caller_role(allow("*")), target_role(arn("somebody"))) == "sts:AssumeRole"


def test_a_missing_role_is_denied_like_a_role_that_does_not_trust_the_caller() -> None:
    issuer = session_issuer(caller_role(allow("*")), target_role())
    answer = assume_role(issuer, issuer.issue_service_session("caller").session, RoleArn=arn("other-target"))
    assert error_of(answer) == (
        403,
        "AccessDenied",
        "User: arn:aws:sts::000000000000:assumed-role/caller/local is not authorized to perform: "
        f"sts:AssumeRole on resource: {arn('other-target')}",
    )


def test_trust_in_the_callers_role_suffices() -> None:
    assert find_denial(caller_role(), target_role(arn("caller"))) is None


def test_trust_in_the_session_of_the_caller_suffices() -> None:
    assert find_denial(caller_role(), target_role("arn:aws:sts::000000000000:assumed-role/caller/local")) is None
    assert (
        find_denial(caller_role(), target_role("arn:aws:sts::000000000000:assumed-role/caller/other"))
        == "sts:AssumeRole"
    )


@pytest.mark.parametrize("account", [ROOT, "000000000000"])
def test_trust_in_the_account_also_needs_the_callers_own_policies(account: str) -> None:
    assert find_denial(caller_role(), target_role(account)) == "sts:AssumeRole"
    assert (
        find_denial(caller_role(allow("sts:AssumeRole", resources=(arn("other"),))), target_role(account))
        == "sts:AssumeRole"
    )
    assert find_denial(caller_role(allow("sts:AssumeRole", resources=(arn("target"),))), target_role(account)) is None


def test_trust_in_another_account_does_not_count() -> None:
    assert find_denial(caller_role(allow("*")), target_role("arn:aws:iam::111122223333:root")) == "sts:AssumeRole"


def test_an_explicit_deny_in_the_callers_policies_denies() -> None:
    denial = find_denial(caller_role(deny("sts:AssumeRole")), target_role(arn("caller")))
    assert denial == "sts:AssumeRole with an explicit deny in an identity-based policy"


def test_an_explicit_deny_in_the_trust_policy_denies() -> None:
    deny_everybody = Statement(effect="Deny", principals={"AWS": ("*",)}, actions=("sts:AssumeRole",))
    trust_policy = Policy(statements=(*trust(arn("caller")).statements, deny_everybody))
    denial = find_denial(caller_role(allow("*")), role("target", trust_policy))
    assert denial == "sts:AssumeRole with an explicit deny in a resource-based policy"


def test_the_callers_boundary_limits_the_roles_it_can_assume() -> None:
    assert (
        find_denial(caller_role(allow("*"), boundary=(allow("dynamodb:*"),)), target_role(arn("caller")))
        == "sts:AssumeRole"
    )


def test_the_callers_session_policy_limits_the_roles_it_can_assume() -> None:
    issuer = session_issuer(caller_role(allow("*")), target_role(arn("caller"), arn("target")))
    for policy, status in (("dynamodb:*", 403), ("sts:AssumeRole", 200)):
        text = f'{{"Version":"2012-10-17","Statement":{{"Effect":"Allow","Action":"{policy}","Resource":"*"}}}}'
        limited_session = new_session(
            issuer, assume_role(issuer, issuer.issue_service_session("caller").session, Policy=text)
        )
        target = target_role(arn("target"))
        issuer.replace_account(issuer.account.with_role(replace(target, deployed_policies=(allow("*"),))))
        assert assume_role(issuer, limited_session).status == status
        issuer.replace_account(issuer.account.with_role(target_role(arn("caller"), arn("target"))))


def test_tags_need_sts_tag_session() -> None:
    role_without_tags = role("target", trust(arn("caller"), actions=("sts:AssumeRole",)))
    assert find_denial(caller_role(allow("*")), role_without_tags) is None
    assert (
        find_denial(caller_role(allow("*")), role_without_tags, **tag_parameters(("tenant", "acme")))
        == "sts:TagSession"
    )


def test_a_source_identity_needs_sts_set_source_identity() -> None:
    role_without_identity = role("target", trust(arn("caller"), actions=("sts:AssumeRole", "sts:TagSession")))
    assert (
        find_denial(caller_role(allow("*")), role_without_identity, SourceIdentity="alice") == "sts:SetSourceIdentity"
    )


@pytest.mark.parametrize(
    ("operator", "key", "value", "parameters", "is_assumed"),
    [
        ("StringLike", "aws:RequestTag/tenant", "?*", tag_parameters(("tenant", "acme")), True),
        ("StringLike", "aws:RequestTag/tenant", "?*", tag_parameters(("tenant", "")), False),
        ("StringLike", "aws:RequestTag/tenant", "?*", tag_parameters(("Tenant", "acme")), True),
        ("StringLike", "aws:RequestTag/tenant", "?*", {}, False),
        ("ForAllValues:StringEquals", "aws:TagKeys", "tenant", tag_parameters(("tenant", "acme"), ("x", "y")), False),
        ("ForAllValues:StringEquals", "aws:TagKeys", "tenant", tag_parameters(("tenant", "acme")), True),
        ("Null", "aws:TagKeys", "false", {}, False),
        ("Null", "aws:TagKeys", "true", {}, True),
        ("Null", "sts:TransitiveTagKeys", "true", tag_parameters(("tenant", "acme")), True),
        (
            "Null",
            "sts:TransitiveTagKeys",
            "true",
            {**tag_parameters(("tenant", "acme")), "TransitiveTagKeys__member__1": "tenant"},
            False,
        ),
        ("StringEquals", "sts:RoleSessionName", "test-session", {}, True),
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
def test_conditions_of_a_trust_policy_apply_to_the_request_and_the_caller(
    operator: str, key: str, value: str, parameters: dict[str, str], is_assumed: bool
) -> None:
    conditions = (Condition(operator, key, (value,)),)
    target = role("target", trust(arn("caller"), actions=ASSUME_ACTIONS, conditions=conditions))
    denial = find_denial(caller_role(tags={"staff": "yes"}), target, **parameters)
    assert (denial is None) == is_assumed
