"""The IAM API of the gate: PutRolePolicy, GetRolePolicy and DeleteRolePolicy for inline policies of roles."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from keyfence_iam.evaluator.decision import Denied, denial_reason
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue
from keyfence_iam.gate.account.account import InlinePolicy, Role
from keyfence_iam.gate.account.session import Session
from keyfence_iam.gate.denials import DeniedCall, first_denied
from keyfence_iam.gate.fault_injection import IAM_ERRORS, ConnectionDropped, inject
from keyfence_iam.gate.http import parameter_validation
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse
from keyfence_iam.gate.http.query_protocol import (
    DELETE_ROLE_POLICY,
    GET_ROLE_POLICY,
    IAM_NAMESPACE,
    IAM_OPERATIONS,
    PUT_ROLE_POLICY,
    UNKNOWN_OPERATION_NAMESPACE,
    InvalidForm,
    QueryError,
    QueryForm,
    access_denied,
    xml_response,
)
from keyfence_iam.gate.settings import GateSettings
from keyfence_iam.gate.sigv4.signature_verifier import SIGNING_REGION_OF_GLOBAL_SERVICES
from keyfence_iam.policy import InvalidPolicy, parse_policy_text
from keyfence_iam.policy.role import MAX_INLINE_SIZE

SERVICE = "iam"
IAM_VERSION = "2010-05-08"
"""The version of the IAM API, which every request names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePolicyRequest:
    """The operation and the parameters of a request to IAM.

    Each parameter is valid, but the request is not yet authorized.
    """

    operation: str
    role_name: str
    policy_name: str
    document: str = ""
    """The policy as JSON text. Only PutRolePolicy has it."""


class RolePolicyApi:
    """Reads and changes the inline policies of roles.

    Each change is saved before it takes effect. A change also applies to sessions that already exist.
    """

    def __init__(self, settings: GateSettings) -> None:
        self._settings = settings

    async def respond(self, http_request: HttpRequest, caller: Session) -> HttpResponse:
        try:
            request = parse_request(QueryForm(http_request.body))
            self._authorize(request, http_request, caller)
            return await self._apply_with_faults(request)
        except QueryError as error:
            return error.response(IAM_NAMESPACE)
        except InvalidForm as error:
            return QueryError("MalformedInput", str(error)).response(IAM_NAMESPACE)

    async def _apply_with_faults(self, request: RolePolicyRequest) -> HttpResponse:
        drop_response = await inject(self._settings.faults.due_faults(SERVICE, request.operation), IAM_ERRORS)
        response = self._apply(request)
        if drop_response:
            raise ConnectionDropped
        return response

    def _apply(self, request: RolePolicyRequest) -> HttpResponse:
        role = self._settings.session_issuer.account.roles.get(request.role_name)
        if role is None:
            raise _no_such_entity("role", request.role_name)
        if request.operation == PUT_ROLE_POLICY:
            self._replace_role(_with_inline_policy(role, request))
        elif request.policy_name not in role.inline_policies:
            raise _no_such_entity("role policy", request.policy_name)
        elif request.operation == DELETE_ROLE_POLICY:
            self._replace_role(role.without_inline_policy(request.policy_name))
        result = _inline_policy_result(request, role) if request.operation == GET_ROLE_POLICY else None
        return xml_response(request.operation, result, namespace=IAM_NAMESPACE)

    def _replace_role(self, role: Role) -> None:
        account = self._settings.session_issuer.account.with_role(role)
        try:
            self._settings.save_role_policies(account.inline_policies)
        except OSError as error:
            raise QueryError("ServiceFailure", f"(gate: the policies cannot be saved: {error})", 500) from error
        self._settings.session_issuer.replace_account(account)

    def _authorize(self, request: RolePolicyRequest, http_request: HttpRequest, caller: Session) -> None:
        account, now = self._settings.session_issuer.account, self._settings.session_issuer.clock()
        role = account.roles.get(request.role_name)
        caller_context = caller.context(
            now,
            source_ip=http_request.source_ip,
            uses_tls=http_request.uses_tls,
            region=SIGNING_REGION_OF_GLOBAL_SERVICES[SERVICE],
        )
        arn = role.arn if role else account.role_arn(request.role_name)
        authorization = AuthorizationRequest(f"iam:{request.operation}", arn, _role_context(request, role))
        if denied := first_denied((authorization,), caller_context, caller, account):
            raise self._log_denial(request, caller, *denied)

    def _log_denial(
        self, request: RolePolicyRequest, caller: Session, authorization: AuthorizationRequest, decision: Denied
    ) -> QueryError:
        """Logs the denial and returns the error to raise. The message of IAM has the name of the role, not its ARN."""
        reason = f" {denial_reason(decision, authorization.action)}"
        error = access_denied(caller.arn, authorization.action, f"role {request.role_name}", reason)
        self._settings.denials.add(
            DeniedCall(
                denied_at=self._settings.session_issuer.clock(),
                session_arn=caller.arn,
                operation=request.operation,
                action=authorization.action,
                resource=authorization.resource,
                message=error.message,
                reason="denied by policies",
                decision=decision,
            )
        )
        return error


def parse_request(form: QueryForm) -> RolePolicyRequest:
    """Returns the operation and the parameters of a request.

    Raises QueryError if the gate does not have the operation, or if parameters are invalid. The error lists all invalid
    parameters.
    """
    operation = _requested_operation(form)
    role_name, policy_name = form.find("RoleName"), form.find("PolicyName")
    document = form.find("PolicyDocument") if operation == PUT_ROLE_POLICY else ""
    violations = [
        *parameter_validation.ROLE_NAME.violations(role_name, "roleName"),
        *parameter_validation.POLICY_NAME.violations(policy_name, "policyName"),
    ]
    if operation == PUT_ROLE_POLICY:
        violations += parameter_validation.INLINE_POLICY.violations(document, "policyDocument")
    parameter_validation.raise_violations(violations)
    return RolePolicyRequest(
        operation=operation, role_name=role_name or "", policy_name=policy_name or "", document=document or ""
    )


def _requested_operation(form: QueryForm) -> str:
    action, version = form.find("Action") or "", form.find("Version")
    if version == IAM_VERSION and action in IAM_OPERATIONS:
        return action
    message = f"Could not find operation {action} for version {version}"
    raise QueryError("InvalidAction", message, namespace=UNKNOWN_OPERATION_NAMESPACE)


def _role_context(request: RolePolicyRequest, role: Role | None) -> Mapping[str, ContextValue]:
    """Returns the condition keys that describe the role.

    On AWS, a request of GetRolePolicy does not have the condition key iam:PermissionsBoundary.
    """
    if role is None:
        return {}
    tags = {f"aws:ResourceTag/{key}": value for key, value in role.tags.items()}
    if role.boundary_arn is None or request.operation == GET_ROLE_POLICY:
        return tags
    return {**tags, "iam:PermissionsBoundary": role.boundary_arn}


def _with_inline_policy(role: Role, request: RolePolicyRequest) -> Role:
    changed_role = role.with_inline_policy(request.policy_name, _parse_document(request.document))
    if changed_role.identity_policy_size > MAX_INLINE_SIZE:
        message = f"Maximum policy size of {MAX_INLINE_SIZE} bytes exceeded for role {role.name}"
        raise QueryError("LimitExceeded", message, 409)
    return changed_role


def _parse_document(document: str) -> InlinePolicy:
    try:
        return InlinePolicy(document, parse_policy_text(document))
    except InvalidPolicy as error:
        raise QueryError("MalformedPolicyDocument", f"Syntax errors in policy. ({error})") from error


def _inline_policy_result(request: RolePolicyRequest, role: Role) -> Mapping[str, str]:
    """Returns the result of GetRolePolicy. IAM returns documents URL-encoded."""
    document = quote(role.inline_policies[request.policy_name].text, safe="-_.~")
    return {"RoleName": role.name, "PolicyName": request.policy_name, "PolicyDocument": document}


def _no_such_entity(kind: str, name: str) -> QueryError:
    return QueryError("NoSuchEntity", f"The {kind} with name {name} cannot be found.", 404)
