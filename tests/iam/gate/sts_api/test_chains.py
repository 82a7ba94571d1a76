"""Role chaining: what a session inherits, what it cannot change, and how long it lasts."""

import pytest

from keyfence_iam.gate.account.session import Session, SessionIssuer
from tests.iam.gate.sts_api.sample_account import (
    allow,
    arn,
    assume_role,
    error,
    new_session,
    parsed,
    porter,
    role,
    sessions,
    tagged,
    trust,
)

CONFLICT = (
    "One of the specified transitive tag keys can't be set because it conflicts with "
    "a transitive tag key from the calling session."
)


@pytest.fixture
def one() -> SessionIssuer:
    return sessions(
        porter(allow("*")),
        role("room", trust(arn("porter"), arn("room")), allow("*"), max_session_seconds=43_200),
    )


def first(one: SessionIssuer, **parameters: str) -> Session:
    return new_session(one, assume_role(one, one.issue_service_session("porter").session, **parameters))


def test_transitive_tags_are_inherited_and_others_are_not(one: SessionIssuer) -> None:
    tags = {**tagged(("tenant", "acme"), ("floor", "3")), "TransitiveTagKeys__member__1": "Tenant"}
    second = new_session(one, assume_role(one, first(one, **tags)))
    third = new_session(one, assume_role(one, second, **tagged(("floor", "4"))))
    assert second.tags == {"tenant": "acme"}
    assert third.tags == {"tenant": "acme", "floor": "4"}


@pytest.mark.parametrize("key", ["tenant", "TENANT"])
def test_a_transitive_tag_cannot_be_changed(one: SessionIssuer, key: str) -> None:
    session = first(one, **tagged(("tenant", "acme")), TransitiveTagKeys__member__1="tenant")
    assert error(assume_role(one, session, **tagged((key, "globex")))) == (400, "InvalidParameterValue", CONFLICT)


def test_inherited_tags_need_the_permission_to_tag() -> None:
    one = sessions(
        porter(allow("*")),
        role("room", trust(arn("porter")), allow("*")),
        role("cellar", trust(arn("room"), actions=("sts:AssumeRole",))),
    )
    plain = new_session(one, assume_role(one, one.issue_service_session("porter").session))
    tags = {**tagged(("tenant", "acme")), "TransitiveTagKeys__member__1": "tenant"}
    transitive = new_session(one, assume_role(one, one.issue_service_session("porter").session, **tags))
    assert assume_role(one, plain, RoleArn=arn("cellar")).status == 200
    assert "sts:TagSession" in error(assume_role(one, transitive, RoleArn=arn("cellar")))[2]


def test_a_source_identity_cannot_be_changed(one: SessionIssuer) -> None:
    session = first(one, SourceIdentity="alice")
    again = assume_role(one, session, SourceIdentity="alice")
    assert parsed(assume_role(one, session))["SourceIdentity"] == "alice"
    assert new_session(one, again).claims.source_identity == "alice"
    assert error(assume_role(one, session, SourceIdentity="bob")) == (
        400,
        "ValidationError",
        "The source identity is already set for this assume role session",
    )


def test_a_session_policy_is_not_inherited(one: SessionIssuer) -> None:
    text = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"sts:*","Resource":"*"}}'
    narrow = first(one, Policy=text)
    assert narrow.policies is not None
    assert new_session(one, assume_role(one, narrow)).policies is None


def test_chained_sessions_last_an_hour_at_most(one: SessionIssuer) -> None:
    session = one.issue_service_session("porter").session
    assert assume_role(one, session, DurationSeconds="3600").status == 200
    assert error(assume_role(one, session, DurationSeconds="3601")) == (
        400,
        "ValidationError",
        "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.",
    )


def test_the_roles_own_limit_is_reported_first() -> None:
    one = sessions(porter(), role("room", trust(arn("porter")), max_session_seconds=3600))
    assert error(assume_role(one, one.issue_service_session("porter").session, DurationSeconds="7200")) == (
        400,
        "ValidationError",
        "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.",
    )
