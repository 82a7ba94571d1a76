"""AssumeRole and GetCallerIdentity over HTTP; parameter checks."""

from collections.abc import Callable, Mapping

from keyfence_iam.gate.account.session import IssuedSession, Session, SessionIssuer
from keyfence_iam.gate.account.session_token import LARGEST_TOKEN, iso_seconds
from keyfence_iam.gate.assume_role import DEFAULT, LONGEST, SHORTEST, AssumeRoleRequest, assume_role
from keyfence_iam.gate.http import validation
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse
from keyfence_iam.gate.http.query_protocol import (
    FAULT,
    Content,
    InvalidForm,
    QueryError,
    QueryForm,
    validation_error,
    xml_response,
)
from keyfence_iam.policy import InvalidPolicy, parse_policy_text

MOST_TAGS = 50
MOST_POLICIES = 10
MOST_POLICY_TEXT = 2048


def parse_assume_role(form: QueryForm) -> AssumeRoleRequest:
    """Raises Declined with all that is wrong with single values, and after that with what is wrong between them."""
    seconds = validation.whole_number(form.find("DurationSeconds"))
    smallest = validation.whole_number(form.find("MinimumSessionTokenSize"))
    tags, transitive = form.members("Tags"), form.texts("TransitiveTagKeys")
    arns = tuple(member.get("arn", "") for member in form.members("PolicyArns"))
    validation.raise_violations(
        [
            *_texts(form),
            *validation.range_violations(seconds, "durationSeconds", SHORTEST, LONGEST),
            *validation.range_violations(smallest, "minimumSessionTokenSize", 0, 4096),
            *_tags(tags),
            *_keys(transitive),
            *_arns(arns),
        ]
    )
    assumption = AssumeRoleRequest(
        role_arn=form.find("RoleArn") or "",
        name=form.find("RoleSessionName") or "",
        seconds=DEFAULT if seconds is None else seconds,
        tags={tag["Key"]: tag["Value"] for tag in tags},
        transitive=transitive,
        policy=form.find("Policy"),
        policy_arns=arns,
        external_id=form.find("ExternalId"),
        source_identity=form.find("SourceIdentity"),
        smallest_token=smallest or 0,
    )
    _check_arn(assumption.role_arn)
    _check_tags([tag["Key"].lower() for tag in tags], [key.lower() for key in transitive])
    _check_policy(assumption)
    return assumption


def _texts(form: QueryForm) -> list[str]:
    required = [
        *validation.ARN.violations(form.find("RoleArn"), "roleArn"),
        *validation.NAME.violations(form.find("RoleSessionName"), "roleSessionName"),
    ]
    optional = (
        (validation.POLICY, "Policy", "policy"),
        (validation.EXTERNAL_ID, "ExternalId", "externalId"),
        (validation.NAME, "SourceIdentity", "sourceIdentity"),
    )
    given = ((rule, value, where) for rule, name, where in optional if (value := form.find(name)) is not None)
    return [*required, *(violation for rule, value, where in given for violation in rule.violations(value, where))]


def _tags(tags: tuple[Mapping[str, str], ...]) -> list[str]:
    wrong = validation.too_many(len(tags), "tags", MOST_TAGS)
    for number, tag in enumerate(tags, 1):
        wrong += validation.TAG_KEY.violations(tag.get("Key"), f"tags.{number}.member.key")
        wrong += validation.TAG_VALUE.violations(tag.get("Value"), f"tags.{number}.member.value")
    return wrong


def _keys(transitive: tuple[str, ...]) -> list[str]:
    wrong = validation.too_many(len(transitive), "transitiveTagKeys", MOST_TAGS)
    for number, key in enumerate(transitive, 1):
        wrong += validation.TAG_KEY.violations(key, f"transitiveTagKeys.{number}.member")
    return wrong


def _arns(arns: tuple[str, ...]) -> list[str]:
    wrong = validation.too_many(len(arns), "policyArns", MOST_POLICIES)
    for number, arn in enumerate(arns, 1):
        wrong += validation.ARN.violations(arn, f"policyArns.{number}.member.arn")
    return wrong


def _check_arn(arn: str) -> None:
    parts = arn.split(":", 5)
    if len(parts) != 6 or parts[0] != "arn" or not (parts[1] and parts[2] and parts[5]):
        raise validation_error(f"{arn} is invalid")


def _check_tags(keys: list[str], transitive: list[str]) -> None:
    if len(set(keys)) < len(keys):
        message = "Duplicate tag keys found. Please note that Tag keys are case insensitive."
        raise QueryError("InvalidParameterValue", message)
    if any(key.startswith("aws:") for key in keys):
        raise QueryError("InvalidParameterValue", "Tag keys that begin with 'aws:' are reserved.")
    if not set(transitive) <= set(keys):
        message = "The specified transitive tag key must be included in the requested tags."
        raise QueryError("InvalidParameterValue", message)


def _check_policy(assumption: AssumeRoleRequest) -> None:
    plain = len(assumption.policy or "") + sum(len(arn) for arn in assumption.policy_arns)
    if plain > MOST_POLICY_TEXT:
        raise validation_error(f"The session policies have {plain} characters of at most {MOST_POLICY_TEXT}.")
    if assumption.policy is not None:
        try:
            parse_policy_text(assumption.policy)
        except InvalidPolicy as error:
            raise QueryError("MalformedPolicyDocument", str(error)) from error


VERSION = "2011-06-15"


def sts_response(request: HttpRequest, caller: Session, sessions: SessionIssuer) -> HttpResponse:
    try:
        form = QueryForm(request.body)
        return _operation(form)(request, form, caller, sessions)
    except QueryError as declined:
        return declined.answer()
    except InvalidForm as error:
        return QueryError("MalformedInput", str(error)).answer()


def action_of(body: bytes) -> str:
    """The action that a form names, as it is logged and as faults are told apart; empty when there is none."""
    try:
        return QueryForm(body).find("Action") or ""
    except InvalidForm:
        return ""


Operation = Callable[[HttpRequest, QueryForm, Session, SessionIssuer], HttpResponse]


def _operation(form: QueryForm) -> Operation:
    action, version = form.find("Action"), form.find("Version")
    if version == VERSION and action in _OPERATIONS:
        return _OPERATIONS[action]
    said = "NO_VERSION_SPECIFIED" if version is None else version
    message = f"Could not find operation {action or ''} for version {said}"
    raise QueryError("InvalidAction", message, namespace=FAULT)


def _assume_role(request: HttpRequest, form: QueryForm, caller: Session, sessions: SessionIssuer) -> HttpResponse:
    issued = assume_role(
        parse_assume_role(form),
        caller,
        sessions,
        source_ip=request.source_ip,
        secure_transport=request.secure,
    )
    return xml_response("AssumeRole", _issued(issued))


def _get_caller_identity(_: HttpRequest, __: QueryForm, caller: Session, ___: SessionIssuer) -> HttpResponse:
    """Needs no permission, and no policy can refuse it."""
    return xml_response("GetCallerIdentity", {"Arn": caller.arn, "UserId": caller.user_id, "Account": caller.account})


def _not_with_a_session(_: HttpRequest, form: QueryForm, __: Session, ___: SessionIssuer) -> HttpResponse:
    raise QueryError("AccessDenied", f"Cannot call {form.find('Action')} with session credentials", 403)


_OPERATIONS: Mapping[str | None, Operation] = {
    "AssumeRole": _assume_role,
    "GetCallerIdentity": _get_caller_identity,
    "GetSessionToken": _not_with_a_session,
    "GetFederationToken": _not_with_a_session,
}

STS_OPERATIONS = frozenset(name for name in _OPERATIONS if name is not None)


def _issued(issued: IssuedSession) -> Mapping[str, Content]:
    session, credentials = issued.session, issued.credentials
    token = credentials.token or ""
    utilization = str(-(-100 * len(token) // LARGEST_TOKEN))
    source = {"SourceIdentity": session.grant.source_identity} if session.grant.source_identity else {}
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
        **source,
    }
