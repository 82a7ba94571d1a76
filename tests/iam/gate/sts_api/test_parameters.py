"""The constraints on parameters of AssumeRole, with the messages of STS."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.gate import sts_api
from keyfence_iam.gate.account.session import SessionIssuer
from tests.iam.gate.sts_api.invalid_assume_role import CASES, STATEMENT
from tests.iam.gate.sts_api.sample_account import (
    allow,
    arn,
    asking,
    assume_role,
    error,
    new_session,
    parsed,
    porter,
    room,
    sessions,
    tagged,
)

ONE = sessions(porter(allow("*")), room())
CALLER = ONE.issue_service_session("porter").session


@pytest.mark.parametrize(("parameters", "message"), CASES.values(), ids=list(CASES))
def test_a_parameter_that_violates_its_constraint_is_reported(parameters: dict[str, str], message: str) -> None:
    assert error(assume_role(ONE, CALLER, **parameters)) == (400, "ValidationError", message)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            tagged(("tenant", "a1"), ("Tenant", "a2")),
            "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
        ),
        (
            {**tagged(("tenant", "a1")), "TransitiveTagKeys__member__1": "other"},
            "The specified transitive tag key must be included in the requested tags.",
        ),
        (tagged(("aws:tenant", "a1")), "Tag keys that begin with 'aws:' are reserved."),
        (tagged(("AWS:tenant", "a1")), "Tag keys that begin with 'aws:' are reserved."),
    ],
    ids=["duplicate", "transitive", "reserved", "reserved-in-capitals"],
)
def test_contradicting_tags_are_rejected(parameters: dict[str, str], message: str) -> None:
    assert error(assume_role(ONE, CALLER, **parameters)) == (400, "InvalidParameterValue", message)


@given(st.text(st.sampled_from('*?$#{}"<>|\\\x00\t\n%&;'), min_size=1, max_size=5), st.text("abc"))
def test_characters_with_a_meaning_in_policies_are_rejected_in_tags(signs: str, more: str) -> None:
    assert error(assume_role(ONE, CALLER, **tagged(("tenant", more + signs))))[1] == "ValidationError"


@given(st.text(st.characters(categories=["L", "N", "Zs"]) | st.sampled_from("_.:/=+-@"), max_size=20))
def test_tags_that_aws_accepts_are_accepted(value: str) -> None:
    answer = assume_role(ONE, CALLER, **tagged(("tenant", value)))
    assert new_session(ONE, answer).tags == {"tenant": value}


@pytest.mark.parametrize("missing", ["RoleArn", "RoleSessionName"])
def test_a_missing_required_parameter_is_reported(missing: str) -> None:
    given = {"Action": "AssumeRole", "RoleArn": arn("room"), "RoleSessionName": "night"}
    answer = sts_api.sts_response(
        asking({name: value for name, value in given.items() if name != missing}), CALLER, ONE
    )
    where = missing[0].lower() + missing[1:]
    assert error(answer)[2] == (
        f"1 validation error detected: Value null at '{where}' failed to satisfy constraint: Member must not be null"
    )


@pytest.mark.parametrize("text", ["", "abc", "900.0", "2147483648", "-2147483649", "٩٠٠", "1e3"])
def test_a_duration_that_is_not_an_integer_is_malformed(text: str) -> None:
    assert error(assume_role(ONE, CALLER, DurationSeconds=text))[:2] == (400, "MalformedInput")


@pytest.mark.parametrize("text", ["+900", "0900", "900"])
def test_an_integer_may_have_a_plus_and_leading_zeros(text: str) -> None:
    grant = new_session(ONE, assume_role(ONE, CALLER, DurationSeconds=text)).claims
    assert (grant.expires_at - grant.issued_at).total_seconds() == 900


@pytest.mark.parametrize(
    ("policy", "place"),
    [
        ("{", "policy: not JSON"),
        ("[]", "policy"),
        ('{"Version":"2012-10-17","Statement":[]}', "policy"),
        (STATEMENT.replace("Action", "Akshun"), "policy.Statement"),
        (STATEMENT.replace('"Effect"', '"Principal":"*","Effect"'), "policy.Statement"),
    ],
)
def test_an_invalid_session_policy_is_malformed(policy: str, place: str) -> None:
    status, code, message = error(assume_role(ONE, CALLER, Policy=policy))
    assert (status, code) == (400, "MalformedPolicyDocument")
    assert message.startswith(place)


def test_managed_session_policies_must_exist_and_are_ten_at_most() -> None:
    known = {f"arn:aws:iam::000000000000:policy/p{number}": allow("s3:*") for number in range(11)}
    one: SessionIssuer = sessions(porter(), room(), managed_policies=known)
    caller = one.issue_service_session("porter").session
    arns = {f"PolicyArns__member__{number}__arn": name for number, name in enumerate(known, 1)}
    assert "'policyArns'" in error(assume_role(one, caller, **arns))[2]
    arns.popitem()
    assert len(new_session(one, assume_role(one, caller, **arns)).policies or ()) == 10
    stranger = "arn:aws:iam::111122223333:policy/p1"
    assert stranger in error(assume_role(one, caller, PolicyArns__member__1__arn=stranger))[2]


def test_inline_and_managed_policies_share_2048_characters() -> None:
    name = "arn:aws:iam::000000000000:policy/p"
    one = sessions(porter(), room(), managed_policies={name: allow("s3:*")})
    caller = one.issue_service_session("porter").session
    fits = STATEMENT.ljust(2048 - len(name))
    assert assume_role(one, caller, Policy=fits, PolicyArns__member__1__arn=name).status == 200
    assert error(assume_role(one, caller, Policy=f"{fits} ", PolicyArns__member__1__arn=name))[1] == "ValidationError"


def test_a_token_beyond_4096_bytes_is_too_large() -> None:
    noise = random.Random(2)
    values = ("".join(chr(noise.randrange(0x4E00, 0x9FFF)) for _ in range(256)) for _ in range(20))
    tags = tagged(*((f"k{number}", value) for number, value in enumerate(values)))
    status, code, message = error(assume_role(ONE, CALLER, **tags))
    assert (status, code) == (400, "PackedPolicyTooLarge")
    assert message.startswith("Packed policy consumes ")


def test_the_response_contains_the_size_of_the_token() -> None:
    answer = parsed(assume_role(ONE, CALLER, MinimumSessionTokenSize="2048"))
    assert len(answer["Credentials"]["SessionToken"]) == answer["SessionTokenSize"] == 2048
    assert answer["SessionTokenUtilization"] == answer["PackedPolicySize"] == 50
