"""In role chaining, a session inherits transitive tags and the source identity, and lasts for an hour at most."""

import pytest

from keyfence_iam.gate.account.session import Session, SessionIssuer
from tests.iam.gate.sts_api.sample_account import (
    allow,
    arn,
    assume_role,
    caller_role,
    error_of,
    new_session,
    parsed_response,
    role,
    session_issuer,
    tag_parameters,
    trust,
)

CONFLICT = (
    "One of the specified transitive tag keys can't be set because it conflicts with "
    "a transitive tag key from the calling session."
)


@pytest.fixture
def issuer() -> SessionIssuer:
    return session_issuer(
        caller_role(allow("*")),
        role("target", trust(arn("caller"), arn("target")), allow("*"), max_session_seconds=43_200),
    )


def assumed_session(issuer: SessionIssuer, **parameters: str) -> Session:
    return new_session(issuer, assume_role(issuer, issuer.issue_service_session("caller").session, **parameters))


def test_transitive_tags_are_inherited_and_others_are_not(issuer: SessionIssuer) -> None:
    tags = {**tag_parameters(("tenant", "acme"), ("floor", "3")), "TransitiveTagKeys__member__1": "Tenant"}
    second = new_session(issuer, assume_role(issuer, assumed_session(issuer, **tags)))
    third = new_session(issuer, assume_role(issuer, second, **tag_parameters(("floor", "4"))))
    assert second.tags == {"tenant": "acme"}
    assert third.tags == {"tenant": "acme", "floor": "4"}


@pytest.mark.parametrize("key", ["tenant", "TENANT"])
def test_a_transitive_tag_cannot_be_changed(issuer: SessionIssuer, key: str) -> None:
    session = assumed_session(issuer, **tag_parameters(("tenant", "acme")), TransitiveTagKeys__member__1="tenant")
    assert error_of(assume_role(issuer, session, **tag_parameters((key, "globex")))) == (
        400,
        "InvalidParameterValue",
        CONFLICT,
    )


def test_inherited_tags_need_the_permission_to_tag() -> None:
    issuer = session_issuer(
        caller_role(allow("*")),
        role("target", trust(arn("caller")), allow("*")),
        role("other-target", trust(arn("target"), actions=("sts:AssumeRole",))),
    )
    plain = new_session(issuer, assume_role(issuer, issuer.issue_service_session("caller").session))
    tags = {**tag_parameters(("tenant", "acme")), "TransitiveTagKeys__member__1": "tenant"}
    transitive = new_session(issuer, assume_role(issuer, issuer.issue_service_session("caller").session, **tags))
    assert assume_role(issuer, plain, RoleArn=arn("other-target")).status == 200
    assert "sts:TagSession" in error_of(assume_role(issuer, transitive, RoleArn=arn("other-target")))[2]


def test_a_source_identity_cannot_be_changed(issuer: SessionIssuer) -> None:
    session = assumed_session(issuer, SourceIdentity="alice")
    again = assume_role(issuer, session, SourceIdentity="alice")
    assert parsed_response(assume_role(issuer, session))["SourceIdentity"] == "alice"
    assert new_session(issuer, again).claims.source_identity == "alice"
    assert error_of(assume_role(issuer, session, SourceIdentity="bob")) == (
        400,
        "ValidationError",
        "The source identity is already set for this assume role session",
    )


def test_a_session_policy_is_not_inherited(issuer: SessionIssuer) -> None:
    text = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"sts:*","Resource":"*"}}'
    limited_session = assumed_session(issuer, Policy=text)
    assert limited_session.policies is not None
    assert new_session(issuer, assume_role(issuer, limited_session)).policies is None


def test_chained_sessions_last_an_hour_at_most(issuer: SessionIssuer) -> None:
    session = issuer.issue_service_session("caller").session
    assert assume_role(issuer, session, DurationSeconds="3600").status == 200
    assert error_of(assume_role(issuer, session, DurationSeconds="3601")) == (
        400,
        "ValidationError",
        "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.",
    )


def test_the_limit_of_the_role_is_reported_before_the_limit_of_role_chaining() -> None:
    issuer = session_issuer(caller_role(), role("target", trust(arn("caller")), max_session_seconds=3600))
    assert error_of(assume_role(issuer, issuer.issue_service_session("caller").session, DurationSeconds="7200")) == (
        400,
        "ValidationError",
        "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.",
    )
