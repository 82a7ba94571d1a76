"""The STS API of the gate: AssumeRole and GetCallerIdentity. It checks parameters as AWS does."""

from collections.abc import Callable, Mapping

from keyfence_iam.gate.account.session import IssuedSession, Session, SessionIssuer
from keyfence_iam.gate.account.session_token import iso_seconds, token_utilization
from keyfence_iam.gate.assume_role import (
    DEFAULT_DURATION,
    MAX_DURATION,
    MIN_DURATION,
    AssumeRoleRequest,
    assume_role,
)
from keyfence_iam.gate.http import parameter_validation
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse
from keyfence_iam.gate.http.query_protocol import (
    UNKNOWN_OPERATION_NAMESPACE,
    InvalidForm,
    QueryError,
    QueryForm,
    XmlContent,
    validation_error,
    xml_response,
)
from keyfence_iam.policy import InvalidPolicy, parse_policy_text

STS_VERSION = "2011-06-15"
"""The version of the STS API, which every request names."""
MAX_TAGS = 50
MAX_POLICY_ARNS = 10
"""The limits of AWS for the tags and for the managed policies of a session."""
MAX_SESSION_POLICY_CHARACTERS = 2048
"""The limit of AWS for the session policy and the ARNs of managed session policies together."""
MAX_MINIMUM_TOKEN_SIZE = 4096
"""The largest MinimumSessionTokenSize that AWS accepts, in characters."""

OperationHandler = Callable[[HttpRequest, QueryForm, Session, SessionIssuer], HttpResponse]
"""A function that answers a request. The third argument is the caller's session. The function raises QueryError if it
rejects the request."""


def sts_response(request: HttpRequest, caller: Session, issuer: SessionIssuer) -> HttpResponse:
    """Answers a request to STS. `caller` is the session that signed the request."""
    try:
        form = QueryForm(request.body)
        return _requested_operation(form)(request, form, caller, issuer)
    except QueryError as error:
        return error.response()
    except InvalidForm as error:
        return QueryError("MalformedInput", str(error)).response()


def action_of(body: bytes) -> str:
    """Returns the action that the form in a body names, or an empty string if the form names no action."""
    try:
        return QueryForm(body).find("Action") or ""
    except InvalidForm:
        return ""


def parse_assume_role(form: QueryForm) -> AssumeRoleRequest:
    """Returns the parameters of AssumeRole. Raises QueryError if they are invalid.

    The error lists all parameters that violate a constraint. If no parameter violates a constraint, more checks follow,
    and the error reports only the first check that fails.
    """
    duration = parameter_validation.parse_integer(form.find("DurationSeconds"))
    token_size = parameter_validation.parse_integer(form.find("MinimumSessionTokenSize"))
    tags, transitive_tag_keys = form.structure_list("Tags"), form.string_list("TransitiveTagKeys")
    policy_arns = tuple(member.get("arn", "") for member in form.structure_list("PolicyArns"))
    parameter_validation.raise_violations(
        [
            *_text_violations(form),
            *parameter_validation.range_violations(duration, "durationSeconds", MIN_DURATION, MAX_DURATION),
            *parameter_validation.range_violations(token_size, "minimumSessionTokenSize", 0, MAX_MINIMUM_TOKEN_SIZE),
            *_tag_violations(tags),
            *_transitive_key_violations(transitive_tag_keys),
            *_policy_arn_violations(policy_arns),
        ]
    )
    request = AssumeRoleRequest(
        role_arn=form.find("RoleArn") or "",
        session_name=form.find("RoleSessionName") or "",
        duration_seconds=DEFAULT_DURATION if duration is None else duration,
        tags={tag["Key"]: tag["Value"] for tag in tags},
        transitive_tag_keys=transitive_tag_keys,
        policy=form.find("Policy"),
        policy_arns=policy_arns,
        external_id=form.find("ExternalId"),
        source_identity=form.find("SourceIdentity"),
        minimum_token_size=token_size or 0,
    )
    _check_arn_format(request.role_arn)
    _check_tags([tag["Key"].lower() for tag in tags], [key.lower() for key in transitive_tag_keys])
    _check_session_policy(request)
    return request


def _text_violations(form: QueryForm) -> list[str]:
    violations = [
        *parameter_validation.ARN.violations(form.find("RoleArn"), "roleArn"),
        *parameter_validation.SESSION_NAME.violations(form.find("RoleSessionName"), "roleSessionName"),
    ]
    optional_parameters = (
        (parameter_validation.SESSION_POLICY, "Policy", "policy"),
        (parameter_validation.EXTERNAL_ID, "ExternalId", "externalId"),
        (parameter_validation.SESSION_NAME, "SourceIdentity", "sourceIdentity"),
    )
    for constraint, name, path in optional_parameters:
        if (value := form.find(name)) is not None:
            violations += constraint.violations(value, path)
    return violations


def _tag_violations(tags: tuple[Mapping[str, str], ...]) -> list[str]:
    violations = parameter_validation.length_violations(len(tags), "tags", MAX_TAGS)
    for number, tag in enumerate(tags, 1):
        violations += parameter_validation.TAG_KEY.violations(tag.get("Key"), f"tags.{number}.member.key")
        violations += parameter_validation.TAG_VALUE.violations(tag.get("Value"), f"tags.{number}.member.value")
    return violations


def _transitive_key_violations(transitive_tag_keys: tuple[str, ...]) -> list[str]:
    violations = parameter_validation.length_violations(len(transitive_tag_keys), "transitiveTagKeys", MAX_TAGS)
    for number, key in enumerate(transitive_tag_keys, 1):
        violations += parameter_validation.TAG_KEY.violations(key, f"transitiveTagKeys.{number}.member")
    return violations


def _policy_arn_violations(arns: tuple[str, ...]) -> list[str]:
    violations = parameter_validation.length_violations(len(arns), "policyArns", MAX_POLICY_ARNS)
    for number, arn in enumerate(arns, 1):
        violations += parameter_validation.ARN.violations(arn, f"policyArns.{number}.member.arn")
    return violations


def _check_arn_format(arn: str) -> None:
    parts = arn.split(":", 5)
    if len(parts) != 6 or parts[0] != "arn" or not (parts[1] and parts[2] and parts[5]):
        raise validation_error(f"{arn} is invalid")


def _check_tags(keys: list[str], transitive_keys: list[str]) -> None:
    """Raises QueryError if the tag keys contradict each other. All keys are in lower case."""
    if len(set(keys)) < len(keys):
        message = "Duplicate tag keys found. Please note that Tag keys are case insensitive."
        raise QueryError("InvalidParameterValue", message)
    if any(key.startswith("aws:") for key in keys):
        raise QueryError("InvalidParameterValue", "Tag keys that begin with 'aws:' are reserved.")
    if not set(transitive_keys) <= set(keys):
        message = "The specified transitive tag key must be included in the requested tags."
        raise QueryError("InvalidParameterValue", message)


def _check_session_policy(request: AssumeRoleRequest) -> None:
    size = len(request.policy or "") + sum(len(arn) for arn in request.policy_arns)
    if size > MAX_SESSION_POLICY_CHARACTERS:
        raise validation_error(
            f"The session policies have {size} characters; the maximum is {MAX_SESSION_POLICY_CHARACTERS}."
        )
    if request.policy is not None:
        try:
            parse_policy_text(request.policy)
        except InvalidPolicy as error:
            raise QueryError("MalformedPolicyDocument", str(error)) from error


def _requested_operation(form: QueryForm) -> OperationHandler:
    action, version = form.find("Action"), form.find("Version")
    if version == STS_VERSION and action in _OPERATION_HANDLERS:
        return _OPERATION_HANDLERS[action]
    version_text = "NO_VERSION_SPECIFIED" if version is None else version
    message = f"Could not find operation {action or ''} for version {version_text}"
    raise QueryError("InvalidAction", message, namespace=UNKNOWN_OPERATION_NAMESPACE)


def _assume_role(request: HttpRequest, form: QueryForm, caller: Session, issuer: SessionIssuer) -> HttpResponse:
    issued_session = assume_role(
        parse_assume_role(form),
        caller,
        issuer,
        source_ip=request.source_ip,
        uses_tls=request.uses_tls,
    )
    return xml_response("AssumeRole", _assume_role_result(issued_session))


def _get_caller_identity(_: HttpRequest, __: QueryForm, caller: Session, ___: SessionIssuer) -> HttpResponse:
    """Answers without an authorization: on AWS, no policy can deny GetCallerIdentity."""
    return xml_response("GetCallerIdentity", {"Arn": caller.arn, "UserId": caller.user_id, "Account": caller.account})


def _reject_session_credentials(_: HttpRequest, form: QueryForm, __: Session, ___: SessionIssuer) -> HttpResponse:
    raise QueryError("AccessDenied", f"Cannot call {form.find('Action')} with session credentials", 403)


def _assume_role_result(issued_session: IssuedSession) -> Mapping[str, XmlContent]:
    session, credentials = issued_session.session, issued_session.credentials
    token = credentials.token or ""
    utilization = str(token_utilization(len(token)))
    source_identity = session.claims.source_identity
    return {
        "AssumedRoleUser": {"AssumedRoleId": session.user_id, "Arn": session.arn},
        "Credentials": {
            "AccessKeyId": credentials.access_key,
            "SecretAccessKey": credentials.secret_key,
            "SessionToken": token,
            "Expiration": iso_seconds(session.expires_at),
        },
        "PackedPolicySize": utilization,
        "SessionTokenUtilization": utilization,
        "SessionTokenSize": str(len(token)),
        **({"SourceIdentity": source_identity} if source_identity else {}),
    }


_OPERATION_HANDLERS: Mapping[str | None, OperationHandler] = {
    "AssumeRole": _assume_role,
    "GetCallerIdentity": _get_caller_identity,
    "GetSessionToken": _reject_session_credentials,
    "GetFederationToken": _reject_session_credentials,
}
