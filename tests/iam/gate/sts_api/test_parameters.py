"""The constraints on parameters of AssumeRole, with the messages of STS."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.gate import sts_api
from keyfence_iam.gate.account.session import SessionIssuer
from tests.iam.gate.sts_api.invalid_assume_role import CASES, POLICY_JSON
from tests.iam.gate.sts_api.sample_account import (
    allow,
    arn,
    assume_role,
    caller_role,
    error_of,
    new_session,
    parsed_response,
    session_issuer,
    sts_request,
    tag_parameters,
    target_role,
)

ISSUER = session_issuer(caller_role(allow("*")), target_role())
CALLER = ISSUER.issue_service_session("caller").session


@pytest.mark.parametrize(("parameters", "message"), CASES.values(), ids=list(CASES))
def test_a_parameter_that_violates_its_constraint_is_reported(parameters: dict[str, str], message: str) -> None:
    assert error_of(assume_role(ISSUER, CALLER, **parameters)) == (400, "ValidationError", message)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            tag_parameters(("tenant", "a1"), ("Tenant", "a2")),
            "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
        ),
        (
            {**tag_parameters(("tenant", "a1")), "TransitiveTagKeys__member__1": "other"},
            "The specified transitive tag key must be included in the requested tags.",
        ),
        (tag_parameters(("aws:tenant", "a1")), "Tag keys that begin with 'aws:' are reserved."),
        (tag_parameters(("AWS:tenant", "a1")), "Tag keys that begin with 'aws:' are reserved."),
    ],
    ids=["duplicate", "transitive", "reserved", "reserved-in-capitals"],
)
def test_contradicting_tags_are_rejected(parameters: dict[str, str], message: str) -> None:
    assert error_of(assume_role(ISSUER, CALLER, **parameters)) == (400, "InvalidParameterValue", message)


@given(st.text(st.sampled_from('*?$#{}"<>|\\\x00\t\n%&;'), min_size=1, max_size=5), st.text("abc"))
def test_characters_with_a_meaning_in_policies_are_rejected_in_tags(special: str, letters: str) -> None:
    assert (
        error_of(assume_role(ISSUER, CALLER, **tag_parameters(("tenant", letters + special))))[1] == "ValidationError"
    )


@given(st.text(st.characters(categories=["L", "N", "Zs"]) | st.sampled_from("_.:/=+-@"), max_size=20))
def test_tags_that_aws_accepts_are_accepted(value: str) -> None:
    answer = assume_role(ISSUER, CALLER, **tag_parameters(("tenant", value)))
    assert new_session(ISSUER, answer).tags == {"tenant": value}


@pytest.mark.parametrize("missing", ["RoleArn", "RoleSessionName"])
def test_a_missing_required_parameter_is_reported(missing: str) -> None:
    parameters = {"Action": "AssumeRole", "RoleArn": arn("target"), "RoleSessionName": "test-session"}
    answer = sts_api.sts_response(
        sts_request({name: value for name, value in parameters.items() if name != missing}), CALLER, ISSUER
    )
    path = missing[0].lower() + missing[1:]
    assert error_of(answer)[2] == (
        f"1 validation error detected: Value null at '{path}' failed to satisfy constraint: Member must not be null"
    )


@pytest.mark.parametrize("text", ["", "abc", "900.0", "2147483648", "-2147483649", "٩٠٠", "1e3"])
def test_a_duration_that_is_not_an_integer_is_malformed(text: str) -> None:
    assert error_of(assume_role(ISSUER, CALLER, DurationSeconds=text))[:2] == (400, "MalformedInput")


@pytest.mark.parametrize("text", ["+900", "0900", "900"])
def test_an_integer_may_have_a_plus_and_leading_zeros(text: str) -> None:
    claims = new_session(ISSUER, assume_role(ISSUER, CALLER, DurationSeconds=text)).claims
    assert (claims.expires_at - claims.issued_at).total_seconds() == 900


@pytest.mark.parametrize(
    ("policy", "path"),
    [
        ("{", "policy: not JSON"),
        ("[]", "policy"),
        ('{"Version":"2012-10-17","Statement":[]}', "policy"),
        (POLICY_JSON.replace("Action", "Akshun"), "policy.Statement"),
        (POLICY_JSON.replace('"Effect"', '"Principal":"*","Effect"'), "policy.Statement"),
    ],
)
def test_an_invalid_session_policy_is_malformed(policy: str, path: str) -> None:
    status, code, message = error_of(assume_role(ISSUER, CALLER, Policy=policy))
    assert (status, code) == (400, "MalformedPolicyDocument")
    assert message.startswith(path)


def test_managed_session_policies_must_exist_and_are_limited_to_ten() -> None:
    policies = {f"arn:aws:iam::000000000000:policy/p{number}": allow("s3:*") for number in range(11)}
    issuer: SessionIssuer = session_issuer(caller_role(), target_role(), managed_policies=policies)
    caller = issuer.issue_service_session("caller").session
    arns = {f"PolicyArns__member__{number}__arn": name for number, name in enumerate(policies, 1)}
    assert "'policyArns'" in error_of(assume_role(issuer, caller, **arns))[2]
    arns.popitem()
    assert len(new_session(issuer, assume_role(issuer, caller, **arns)).policies or ()) == 10
    foreign_arn = "arn:aws:iam::111122223333:policy/p1"
    assert foreign_arn in error_of(assume_role(issuer, caller, PolicyArns__member__1__arn=foreign_arn))[2]


def test_the_session_policy_and_the_policy_arns_share_2048_characters() -> None:
    name = "arn:aws:iam::000000000000:policy/p"
    issuer = session_issuer(caller_role(), target_role(), managed_policies={name: allow("s3:*")})
    caller = issuer.issue_service_session("caller").session
    longest_policy = POLICY_JSON.ljust(2048 - len(name))
    assert assume_role(issuer, caller, Policy=longest_policy, PolicyArns__member__1__arn=name).status == 200
    assert (
        error_of(assume_role(issuer, caller, Policy=f"{longest_policy} ", PolicyArns__member__1__arn=name))[1]
        == "ValidationError"
    )


def test_claims_that_need_a_token_of_more_than_4096_bytes_are_rejected() -> None:
    noise = random.Random(2)
    values = ("".join(chr(noise.randrange(0x4E00, 0x9FFF)) for _ in range(256)) for _ in range(20))
    tags = tag_parameters(*((f"k{number}", value) for number, value in enumerate(values)))
    status, code, message = error_of(assume_role(ISSUER, CALLER, **tags))
    assert (status, code) == (400, "PackedPolicyTooLarge")
    assert message.startswith("Packed policy consumes ")


def test_the_response_contains_the_size_of_the_token() -> None:
    answer = parsed_response(assume_role(ISSUER, CALLER, MinimumSessionTokenSize="2048"))
    assert len(answer["Credentials"]["SessionToken"]) == answer["SessionTokenSize"] == 2048
    assert answer["SessionTokenUtilization"] == answer["PackedPolicySize"] == 50
