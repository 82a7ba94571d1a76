"""PutRolePolicy, GetRolePolicy, DeleteRolePolicy."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from keyfence_iam.evaluator.decision import Denied, reason
from keyfence_iam.evaluator.request import Authorisation, Value
from keyfence_iam.gate.account.account import InlinePolicy, Role
from keyfence_iam.gate.account.session import Session, first_denied
from keyfence_iam.gate.denials import Denial
from keyfence_iam.gate.fault_injection import IAM as FAILING
from keyfence_iam.gate.fault_injection import HungUp, disturb
from keyfence_iam.gate.http import validation
from keyfence_iam.gate.http.messages import Answer, Request
from keyfence_iam.gate.http.query_protocol import (
    DELETE,
    FAULT,
    GET,
    IAM,
    IAM_OPERATIONS,
    PUT,
    BadForm,
    Declined,
    Form,
    not_authorized,
    success,
)
from keyfence_iam.gate.sigv4.verifier import GLOBAL
from keyfence_iam.gate.state import Rules
from keyfence_iam.policy import BadPolicy, parse_text
from keyfence_iam.policy.document import INLINE

VERSION = "2010-05-08"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Checked in itself; whether there is such a role, and who may ask, is not known yet."""

    operation: str
    role: str
    name: str
    document: str = ""


def read(form: Form) -> Asked:
    """Raises Declined."""
    operation = _operation(form)
    role, name = form.find("RoleName"), form.find("PolicyName")
    document = form.find("PolicyDocument") if operation == PUT else ""
    validation.refuse(
        [
            *validation.ROLE_NAME.violations(role, "roleName"),
            *validation.POLICY_NAME.violations(name, "policyName"),
            *(validation.DOCUMENT.violations(document, "policyDocument") if operation == PUT else ()),
        ]
    )
    return Asked(operation=operation, role=role or "", name=name or "", document=document or "")


def policy(document: str) -> InlinePolicy:
    """Raises Declined for what IAM would not take."""
    try:
        return InlinePolicy(document, parse_text(document))
    except BadPolicy as error:
        raise Declined("MalformedPolicyDocument", f"Syntax errors in policy. ({error})") from error


def _operation(form: Form) -> str:
    action, version = form.find("Action") or "", form.find("Version")
    if version == VERSION and action in IAM_OPERATIONS:
        return action
    raise Declined("InvalidAction", f"Could not find operation {action} for version {version}", namespace=FAULT)


SERVICE = "iam"


class Inline:
    """What is changed here is kept first and holds from then on, also for the sessions that live."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    async def answer(self, request: Request, caller: Session) -> Answer:
        try:
            asked = read(Form(request.body))
            self._authorise(asked, request, caller)
            return await self._disturbed(asked)
        except Declined as declined:
            return declined.answer(IAM)
        except BadForm as error:
            return Declined("MalformedInput", str(error)).answer(IAM)

    async def _disturbed(self, asked: Asked) -> Answer:
        lost = await disturb(self._rules.faults.striking(SERVICE, asked.operation), FAILING)
        answer = self._done(asked)
        if lost:
            raise HungUp
        return answer

    def _done(self, asked: Asked) -> Answer:
        role = self._role(asked)
        if asked.operation == PUT:
            self._replace(_having(role, asked))
        elif asked.name not in role.inline:
            raise _missing("role policy", asked.name)
        elif asked.operation == DELETE:
            self._replace(role.without_inline(asked.name))
        return success(asked.operation, _shown(asked, role) if asked.operation == GET else None, namespace=IAM)

    def _replace(self, role: Role) -> None:
        account = self._rules.sessions.account.having(role)
        try:
            self._rules.keep(account.inline)
        except OSError as error:
            raise Declined("ServiceFailure", f"(gate: the policies cannot be kept: {error})", 500) from error
        self._rules.sessions.govern(account)

    def _role(self, asked: Asked) -> Role:
        role = self._rules.sessions.account.roles.get(asked.role)
        if role is None:
            raise _missing("role", asked.role)
        return role

    def _authorise(self, asked: Asked, request: Request, caller: Session) -> None:
        account, now = self._rules.sessions.account, self._rules.sessions.clock()
        role = account.roles.get(asked.role)
        known = caller.context(
            now, source_ip=request.source_ip, secure_transport=request.secure, region=GLOBAL[SERVICE]
        )
        arn = role.arn if role else account.deployment.named_role_arn(asked.role)
        question = Authorisation(f"iam:{asked.operation}", arn, _context(asked, role))
        if denied := first_denied((question,), known, caller, account):
            raise self._refusal(asked, caller, *denied)

    def _refusal(self, asked: Asked, caller: Session, question: Authorisation, decision: Denied) -> Declined:
        """IAM names the role as it was named to it, not by its ARN."""
        why = f" {reason(decision, question.action)}"
        declined = not_authorized(caller.arn, question.action, f"role {asked.role}", why)
        self._rules.denials.add(
            Denial(
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


def _context(asked: Asked, role: Role | None) -> Mapping[str, Value]:
    """Reading a policy is the one of the three that IAM does not tell the boundary of."""
    if role is None:
        return {}
    tags = {f"aws:ResourceTag/{key}": value for key, value in role.tags.items()}
    bounded = role.boundary_arn is not None and asked.operation != GET
    return {**tags, **({"iam:PermissionsBoundary": role.boundary_arn or ""} if bounded else {})}


def _having(role: Role, asked: Asked) -> Role:
    changed = role.with_inline(asked.name, policy(asked.document))
    if changed.inline_size > INLINE:
        message = f"Maximum policy size of {INLINE} bytes exceeded for role {role.name}"
        raise Declined("LimitExceeded", message, 409)
    return changed


def _shown(asked: Asked, role: Role) -> Mapping[str, str]:
    document = quote(role.inline[asked.name].text, safe="-_.~")
    return {"RoleName": role.name, "PolicyName": asked.name, "PolicyDocument": document}


def _missing(kind: str, name: str) -> Declined:
    return Declined("NoSuchEntity", f"The {kind} with name {name} cannot be found.", 404)
