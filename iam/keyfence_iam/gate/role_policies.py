"""PutRolePolicy, GetRolePolicy, DeleteRolePolicy."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from keyfence_iam.evaluator.decision import Denied, denial_reason
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue
from keyfence_iam.gate.account.account import InlinePolicy, Role
from keyfence_iam.gate.account.session import Session, first_denied
from keyfence_iam.gate.denials import DeniedCall
from keyfence_iam.gate.fault_injection import IAM as FAILING
from keyfence_iam.gate.fault_injection import ConnectionDropped, inject
from keyfence_iam.gate.http import validation
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse
from keyfence_iam.gate.http.query_protocol import (
    DELETE,
    FAULT,
    GET,
    IAM,
    IAM_OPERATIONS,
    PUT,
    InvalidForm,
    QueryError,
    QueryForm,
    access_denied,
    xml_response,
)
from keyfence_iam.gate.sigv4.verifier import GLOBAL_REGION
from keyfence_iam.gate.state import GateState
from keyfence_iam.policy import InvalidPolicy, parse_policy_text
from keyfence_iam.policy.document import MAX_INLINE_SIZE

VERSION = "2010-05-08"


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePolicyRequest:
    """Checked in itself; whether there is such a role, and who may ask, is not known yet."""

    operation: str
    role: str
    name: str
    document: str = ""


def parse_request(form: QueryForm) -> RolePolicyRequest:
    """Raises Declined."""
    operation = _operation(form)
    role, name = form.find("RoleName"), form.find("PolicyName")
    document = form.find("PolicyDocument") if operation == PUT else ""
    validation.raise_violations(
        [
            *validation.ROLE_NAME.violations(role, "roleName"),
            *validation.POLICY_NAME.violations(name, "policyName"),
            *(validation.DOCUMENT.violations(document, "policyDocument") if operation == PUT else ()),
        ]
    )
    return RolePolicyRequest(operation=operation, role=role or "", name=name or "", document=document or "")


def policy(document: str) -> InlinePolicy:
    """Raises Declined for what IAM would not take."""
    try:
        return InlinePolicy(document, parse_policy_text(document))
    except InvalidPolicy as error:
        raise QueryError("MalformedPolicyDocument", f"Syntax errors in policy. ({error})") from error


def _operation(form: QueryForm) -> str:
    action, version = form.find("Action") or "", form.find("Version")
    if version == VERSION and action in IAM_OPERATIONS:
        return action
    raise QueryError("InvalidAction", f"Could not find operation {action} for version {version}", namespace=FAULT)


SERVICE = "iam"


class RolePolicyApi:
    """What is changed here is kept first and holds from then on, also for the sessions that live."""

    def __init__(self, rules: GateState) -> None:
        self._rules = rules

    async def answer(self, request: HttpRequest, caller: Session) -> HttpResponse:
        try:
            asked = parse_request(QueryForm(request.body))
            self._authorise(asked, request, caller)
            return await self._disturbed(asked)
        except QueryError as declined:
            return declined.answer(IAM)
        except InvalidForm as error:
            return QueryError("MalformedInput", str(error)).answer(IAM)

    async def _disturbed(self, asked: RolePolicyRequest) -> HttpResponse:
        lost = await inject(self._rules.faults.due_faults(SERVICE, asked.operation), FAILING)
        answer = self._apply(asked)
        if lost:
            raise ConnectionDropped
        return answer

    def _apply(self, asked: RolePolicyRequest) -> HttpResponse:
        role = self._role(asked)
        if asked.operation == PUT:
            self._replace(_having(role, asked))
        elif asked.name not in role.inline:
            raise _missing("role policy", asked.name)
        elif asked.operation == DELETE:
            self._replace(role.without_inline(asked.name))
        return xml_response(asked.operation, _shown(asked, role) if asked.operation == GET else None, namespace=IAM)

    def _replace(self, role: Role) -> None:
        account = self._rules.sessions.account.with_role(role)
        try:
            self._rules.keep(account.inline)
        except OSError as error:
            raise QueryError("ServiceFailure", f"(gate: the policies cannot be kept: {error})", 500) from error
        self._rules.sessions.replace_account(account)

    def _role(self, asked: RolePolicyRequest) -> Role:
        role = self._rules.sessions.account.roles.get(asked.role)
        if role is None:
            raise _missing("role", asked.role)
        return role

    def _authorise(self, asked: RolePolicyRequest, request: HttpRequest, caller: Session) -> None:
        account, now = self._rules.sessions.account, self._rules.sessions.clock()
        role = account.roles.get(asked.role)
        known = caller.context(
            now, source_ip=request.source_ip, secure_transport=request.secure, region=GLOBAL_REGION[SERVICE]
        )
        arn = role.arn if role else account.deployment.named_role_arn(asked.role)
        question = AuthorizationRequest(f"iam:{asked.operation}", arn, _context(asked, role))
        if denied := first_denied((question,), known, caller, account):
            raise self._refusal(asked, caller, *denied)

    def _refusal(
        self, asked: RolePolicyRequest, caller: Session, question: AuthorizationRequest, decision: Denied
    ) -> QueryError:
        """IAM names the role as it was named to it, not by its ARN."""
        why = f" {denial_reason(decision, question.action)}"
        declined = access_denied(caller.arn, question.action, f"role {asked.role}", why)
        self._rules.denials.add(
            DeniedCall(
                at=self._rules.sessions.clock(),
                session_arn=caller.arn,
                operation=asked.operation,
                action=question.action,
                resource=question.resource,
                message=declined.message,
                reason="denied by policies",
                decision=decision,
            )
        )
        return declined


def _context(asked: RolePolicyRequest, role: Role | None) -> Mapping[str, ContextValue]:
    """Reading a policy is the one of the three that IAM does not tell the boundary of."""
    if role is None:
        return {}
    tags = {f"aws:ResourceTag/{key}": value for key, value in role.tags.items()}
    bounded = role.boundary_arn is not None and asked.operation != GET
    return {**tags, **({"iam:PermissionsBoundary": role.boundary_arn or ""} if bounded else {})}


def _having(role: Role, asked: RolePolicyRequest) -> Role:
    changed = role.with_inline(asked.name, policy(asked.document))
    if changed.inline_size > MAX_INLINE_SIZE:
        message = f"Maximum policy size of {MAX_INLINE_SIZE} bytes exceeded for role {role.name}"
        raise QueryError("LimitExceeded", message, 409)
    return changed


def _shown(asked: RolePolicyRequest, role: Role) -> Mapping[str, str]:
    document = quote(role.inline[asked.name].text, safe="-_.~")
    return {"RoleName": role.name, "PolicyName": asked.name, "PolicyDocument": document}


def _missing(kind: str, name: str) -> QueryError:
    return QueryError("NoSuchEntity", f"The {kind} with name {name} cannot be found.", 404)
