"""The local STS: AssumeRole and GetCallerIdentity for callers whose signature was verified."""

from collections.abc import Callable, Mapping

from keyfence_iam.gate.answer import Answer
from keyfence_iam.gate.clock import iso
from keyfence_iam.gate.query.declined import Declined
from keyfence_iam.gate.query.form import BadForm, Form
from keyfence_iam.gate.query.xml import FAULT, Content, success
from keyfence_iam.gate.request import Request
from keyfence_iam.gate.session import Session
from keyfence_iam.gate.sessions import Issued, Sessions
from keyfence_iam.gate.sts import assumption
from keyfence_iam.gate.sts.assume_role import assume
from keyfence_iam.gate.token import LARGEST_TOKEN

VERSION = "2011-06-15"


def answer(request: Request, caller: Session, sessions: Sessions) -> Answer:
    try:
        form = Form(request.body)
        return _operation(form)(request, form, caller, sessions)
    except Declined as declined:
        return declined.answer()
    except BadForm as error:
        return Declined("MalformedInput", str(error)).answer()


def operation(body: bytes) -> str:
    """The action that a form names, as it is logged and as faults are told apart; empty when there is none."""
    try:
        return Form(body).find("Action") or ""
    except BadForm:
        return ""


Operation = Callable[[Request, Form, Session, Sessions], Answer]


def _operation(form: Form) -> Operation:
    action, version = form.find("Action"), form.find("Version")
    if version == VERSION and action in _OPERATIONS:
        return _OPERATIONS[action]
    said = "NO_VERSION_SPECIFIED" if version is None else version
    message = f"Could not find operation {action or ''} for version {said}"
    raise Declined("InvalidAction", message, namespace=FAULT)


def _assume_role(request: Request, form: Form, caller: Session, sessions: Sessions) -> Answer:
    issued = assume(
        assumption.read(form),
        caller,
        sessions,
        source_ip=request.source_ip,
        secure_transport=request.secure,
    )
    return success("AssumeRole", _issued(issued))


def _get_caller_identity(_: Request, __: Form, caller: Session, ___: Sessions) -> Answer:
    """Needs no permission, and no policy can refuse it."""
    return success("GetCallerIdentity", {"Arn": caller.arn, "UserId": caller.user_id, "Account": caller.account})


def _not_with_a_session(_: Request, form: Form, __: Session, ___: Sessions) -> Answer:
    raise Declined("AccessDenied", f"Cannot call {form.find('Action')} with session credentials", 403)


_OPERATIONS: Mapping[str | None, Operation] = {
    "AssumeRole": _assume_role,
    "GetCallerIdentity": _get_caller_identity,
    "GetSessionToken": _not_with_a_session,
    "GetFederationToken": _not_with_a_session,
}

OPERATIONS = frozenset(name for name in _OPERATIONS if name is not None)


def _issued(issued: Issued) -> Mapping[str, Content]:
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
            "Expiration": iso(session.expires_at),
        },
        "PackedPolicySize": utilization,
        "SessionTokenUtilization": utilization,
        "SessionTokenSize": str(len(token)),
        **source,
    }
