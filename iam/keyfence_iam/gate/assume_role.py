"""`assume_role`: authorizes an AssumeRole request by policies, checks its limits, and issues the session."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from keyfence_iam.evaluator.decision import Denied, denial_reason
from keyfence_iam.evaluator.evaluation_logic import evaluate, evaluate_trust
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue
from keyfence_iam.gate.account.account import Role
from keyfence_iam.gate.account.session import IssuedSession, Session, SessionIssuer
from keyfence_iam.gate.account.session_token import SessionClaims, TokenTooLarge
from keyfence_iam.gate.http.query_protocol import QueryError, access_denied, validation_error
from keyfence_iam.policy import Policy
from keyfence_iam.policy.role import MAX_CHAINED_SESSION_SECONDS

MIN_DURATION, MAX_DURATION, DEFAULT_DURATION = 900, 43_200, 3_600
"""The limits and the default of DurationSeconds on AWS, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumeRoleRequest:
    """The parameters of AssumeRole. Each parameter is valid, but the request is not yet authorized."""

    role_arn: str
    session_name: str
    duration_seconds: int = DEFAULT_DURATION
    tags: Mapping[str, str] = field(default_factory=dict)
    transitive_tag_keys: tuple[str, ...] = ()
    policy: str | None = None
    """The session policy, as JSON text."""
    policy_arns: tuple[str, ...] = ()
    """The ARNs of managed policies that also limit the session."""
    external_id: str | None = None
    source_identity: str | None = None
    minimum_token_size: int = 0
    """The smallest size of the session token, in characters. The token is padded to this size."""


def assume_role(
    request: AssumeRoleRequest,
    caller: Session,
    issuer: SessionIssuer,
    *,
    source_ip: str = "127.0.0.1",
    uses_tls: bool = False,
) -> IssuedSession:
    """Issues the session, or raises QueryError.

    The caller is itself a session of a role. AWS calls this role chaining, and limits the new session to one hour.
    """
    account, now = issuer.account, issuer.clock()
    role = account.find_role_by_arn(request.role_arn)
    if role is None:
        raise access_denied(caller.arn, "sts:AssumeRole", request.role_arn)
    source_identity = _resulting_source_identity(request, caller)
    inherited_tags = _inherited_tags(request, caller)
    caller_context = caller.context(now, source_ip=source_ip, uses_tls=uses_tls, region=account.region)
    context = {**caller_context, **_request_context(request, role, source_identity)}
    actions = _required_actions(source_identity, is_tagged=bool(request.tags or inherited_tags))
    _authorize(caller, role, context, actions)
    _check_duration(request.duration_seconds, role)
    _check_policy_arns(request, issuer)
    claims = SessionClaims(
        role=role.name,
        role_id=role.id,
        session_name=request.session_name,
        issued_at=now.replace(microsecond=0),
        expires_at=now.replace(microsecond=0) + timedelta(seconds=request.duration_seconds),
        tags={**inherited_tags, **request.tags},
        transitive_tag_keys=(*inherited_tags, *request.transitive_tag_keys),
        policy=request.policy,
        policy_arns=request.policy_arns,
        source_identity=source_identity,
    )
    return _issue(claims, issuer, request.minimum_token_size)


def _resulting_source_identity(request: AssumeRoleRequest, caller: Session) -> str | None:
    """Returns the source identity of the new session. If the caller has a source identity, the session inherits it.

    Raises QueryError if the request sets another source identity than the inherited one.
    """
    requested, inherited = request.source_identity, caller.claims.source_identity
    if requested is not None and inherited is not None and requested != inherited:
        raise validation_error("The source identity is already set for this assume role session")
    return inherited or requested


def _inherited_tags(request: AssumeRoleRequest, caller: Session) -> Mapping[str, str]:
    """Returns the transitive tags of the caller. Raises QueryError if the request sets one of them again."""
    transitive_keys = {key.lower() for key in caller.claims.transitive_tag_keys}
    if any(key.lower() in transitive_keys for key in request.tags):
        raise QueryError(
            "InvalidParameterValue",
            "One of the specified transitive tag keys can't be set because it conflicts with "
            "a transitive tag key from the calling session.",
        )
    return {key: value for key, value in caller.claims.tags.items() if key.lower() in transitive_keys}


def _request_context(request: AssumeRoleRequest, role: Role, source_identity: str | None) -> dict[str, ContextValue]:
    """Returns the condition keys of the request and the role.

    A condition key without a value is left out, because an empty list would satisfy every ForAllValues condition.
    """
    context: dict[str, ContextValue | None] = {
        **{f"aws:RequestTag/{key}": value for key, value in request.tags.items()},
        **{f"aws:ResourceTag/{key}": value for key, value in role.tags.items()},
        "aws:TagKeys": tuple(request.tags) or None,
        "sts:TransitiveTagKeys": request.transitive_tag_keys or None,
        "sts:RoleSessionName": request.session_name,
        "sts:ExternalId": request.external_id,
        "sts:SourceIdentity": source_identity,
    }
    return {key: value for key, value in context.items() if value is not None}


def _required_actions(source_identity: str | None, *, is_tagged: bool) -> tuple[str, ...]:
    """Returns the actions that the caller needs. AWS checks them in this order and reports the first denied action."""
    actions = ["sts:SetSourceIdentity"] if source_identity else []
    if is_tagged:
        actions.append("sts:TagSession")
    return (*actions, "sts:AssumeRole")


def _authorize(caller: Session, role: Role, context: Mapping[str, ContextValue], actions: tuple[str, ...]) -> None:
    """Raises QueryError unless the role trusts the caller and no policy denies the call.

    If the role trusts the whole account instead of the caller, the caller's policies must also allow the call.
    """
    policies = caller.policies_for((_trust_as_resource_policy(role),))
    for action in actions:
        request = AuthorizationRequest(action, role.arn, context)
        for decision in (
            evaluate_trust(role.trust, caller.principal, request),
            evaluate(policies, request, caller.principal),
        ):
            if isinstance(decision, Denied):
                raise access_denied(caller.arn, action, role.arn, _denial_reason(decision, action))


def _trust_as_resource_policy(role: Role) -> Policy:
    """Returns the trust policy with the role as its resource. A trust policy itself has no Resource element."""
    statements = (replace(statement, resources=(role.arn,)) for statement in role.trust.statements)
    return replace(role.trust, statements=tuple(statements))


def _denial_reason(denied: Denied, action: str) -> str:
    """Returns the end of the error message. STS gives a reason only for an explicit Deny."""
    return f" {denial_reason(denied, action)}" if denied.is_explicit else ""


def _check_duration(seconds: int, role: Role) -> None:
    if seconds > role.max_session_seconds:
        raise validation_error("The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
    if seconds > MAX_CHAINED_SESSION_SECONDS:
        message = "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining."
        raise validation_error(message)


def _check_policy_arns(request: AssumeRoleRequest, issuer: SessionIssuer) -> None:
    for arn in request.policy_arns:
        if arn not in issuer.account.managed_policies:
            raise validation_error(f"The policy {arn} does not exist in the account of the role.")


def _issue(claims: SessionClaims, issuer: SessionIssuer, minimum_token_size: int) -> IssuedSession:
    try:
        return issuer.issue(claims, minimum_size=minimum_token_size)
    except TokenTooLarge as error:
        message = f"Packed policy consumes {error.utilization}% of allotted space, please use smaller policy."
        raise QueryError("PackedPolicyTooLarge", message) from error
