"""What a call of AssumeRole asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from keyfence_iam.evaluator import decision as wording
from keyfence_iam.evaluator.decision import Denied
from keyfence_iam.evaluator.evaluate import evaluate, evaluate_trust
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue
from keyfence_iam.gate.account.account import Role
from keyfence_iam.gate.account.session import IssuedSession, Session, SessionIssuer
from keyfence_iam.gate.account.session_token import SessionClaims, TokenTooLarge
from keyfence_iam.gate.http.query_protocol import QueryError, access_denied, validation_error
from keyfence_iam.policy import Policy

SHORTEST, LONGEST, DEFAULT = 900, 43_200, 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumeRoleRequest:
    """Checked in itself; whether it is allowed depends on who asks."""

    role_arn: str
    name: str
    seconds: int = DEFAULT
    tags: Mapping[str, str] = field(default_factory=dict)
    transitive: tuple[str, ...] = ()
    policy: str | None = None
    policy_arns: tuple[str, ...] = ()
    external_id: str | None = None
    source_identity: str | None = None
    smallest_token: int = 0


LONGEST_CHAINED = 3600


def assume_role(
    assumption: AssumeRoleRequest,
    caller: Session,
    sessions: SessionIssuer,
    *,
    source_ip: str = "127.0.0.1",
    secure_transport: bool = False,
) -> IssuedSession:
    """Raises Declined. Every caller here is a session itself, so every new session is a link of a chain."""
    account, now = sessions.account, sessions.clock()
    role = account.find_role(assumption.role_arn)
    if role is None:
        raise access_denied(caller.arn, "sts:AssumeRole", assumption.role_arn)
    source_identity = _source_identity(assumption, caller)
    inherited = _inherited(assumption, caller)
    known = caller.context(
        now, source_ip=source_ip, secure_transport=secure_transport, region=account.deployment.region
    )
    context = {**known, **_context(assumption, role, source_identity)}
    _authorise(caller, role, context, _actions(source_identity, tagged=bool(assumption.tags or inherited)))
    _check_duration(assumption.seconds, role)
    _check_managed(assumption, sessions)
    grant = SessionClaims(
        role=role.name,
        role_id=role.id,
        name=assumption.name,
        issued_at=now.replace(microsecond=0),
        expires_at=now.replace(microsecond=0) + timedelta(seconds=assumption.seconds),
        tags={**inherited, **assumption.tags},
        transitive=(*inherited, *assumption.transitive),
        policy=assumption.policy,
        policy_arns=assumption.policy_arns,
        source_identity=source_identity,
    )
    return _begun(grant, sessions, assumption.smallest_token)


def _source_identity(assumption: AssumeRoleRequest, caller: Session) -> str | None:
    """Once set it stays, and every further link must be allowed to carry it."""
    asked, carried = assumption.source_identity, caller.grant.source_identity
    if asked is not None and carried is not None and asked != carried:
        raise validation_error("The source identity is already set for this assume role session")
    return carried or asked


def _inherited(assumption: AssumeRoleRequest, caller: Session) -> Mapping[str, str]:
    kept = {key.lower() for key in caller.grant.transitive}
    if any(key.lower() in kept for key in assumption.tags):
        raise QueryError(
            "InvalidParameterValue",
            "One of the specified transitive tag keys can't be set because it conflicts with "
            "a transitive tag key from the calling session.",
        )
    return {key: value for key, value in caller.grant.tags.items() if key.lower() in kept}


def _context(assumption: AssumeRoleRequest, role: Role, source_identity: str | None) -> dict[str, ContextValue]:
    """A key is there only when the request has something to say: an empty list would satisfy ForAllValues."""
    said: dict[str, ContextValue | None] = {
        **{f"aws:RequestTag/{key}": value for key, value in assumption.tags.items()},
        **{f"aws:ResourceTag/{key}": value for key, value in role.tags.items()},
        "aws:TagKeys": tuple(assumption.tags) or None,
        "sts:TransitiveTagKeys": assumption.transitive or None,
        "sts:RoleSessionName": assumption.name,
        "sts:ExternalId": assumption.external_id,
        "sts:SourceIdentity": source_identity,
    }
    return {key: value for key, value in said.items() if value is not None}


def _actions(source_identity: str | None, *, tagged: bool) -> tuple[str, ...]:
    """AWS names the permission that goes with a parameter before the call itself."""
    identity = ("sts:SetSourceIdentity",) if source_identity else ()
    return (*identity, *(("sts:TagSession",) if tagged else ()), "sts:AssumeRole")


def _authorise(caller: Session, role: Role, context: Mapping[str, ContextValue], actions: tuple[str, ...]) -> None:
    """The role must trust the caller; where it trusts the account, the caller's own policies must allow it too."""
    policies = caller.policies_for((_on(role),))
    for action in actions:
        asked = AuthorizationRequest(action, role.arn, context)
        for decision in (
            evaluate_trust(role.trust, caller.principal, asked),
            evaluate(policies, asked, caller.principal),
        ):
            if isinstance(decision, Denied):
                raise access_denied(caller.arn, action, role.arn, _reason(decision, action))


def _on(role: Role) -> Policy:
    """The trust policy as one on the role: unlike others on resources, it does not name what it is attached to."""
    statements = (replace(statement, resources=(role.arn,)) for statement in role.trust.statements)
    return replace(role.trust, statements=tuple(statements))


def _reason(denied: Denied, action: str) -> str:
    """STS says why only when a policy says no; that none says yes it leaves to be guessed."""
    return f" {wording.denial_reason(denied, action)}" if denied.explicit else ""


def _check_duration(seconds: int, role: Role) -> None:
    if seconds > role.max_session_seconds:
        raise validation_error("The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
    if seconds > LONGEST_CHAINED:
        message = "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining."
        raise validation_error(message)


def _check_managed(assumption: AssumeRoleRequest, sessions: SessionIssuer) -> None:
    for arn in assumption.policy_arns:
        if arn not in sessions.account.managed_policies:
            raise validation_error(f"The policy {arn} does not exist in the account of the role.")


def _begun(grant: SessionClaims, sessions: SessionIssuer, smallest_token: int) -> IssuedSession:
    try:
        return sessions.begin(grant, smallest_token=smallest_token)
    except TokenTooLarge as error:
        message = f"Packed policy consumes {error.utilization}% of allotted space, please use smaller policy."
        raise QueryError("PackedPolicyTooLarge", message) from error
