"""What a call on the inline policies of a role asks for."""

from dataclasses import dataclass

from keyfence_iam.document import BadPolicy, parse_text
from keyfence_iam.gate.query import constraint
from keyfence_iam.gate.query.declined import Declined
from keyfence_iam.gate.query.form import Form
from keyfence_iam.gate.query.xml import FAULT
from keyfence_iam.gate.role import InlinePolicy

VERSION = "2010-05-08"
PUT, GET, DELETE = "PutRolePolicy", "GetRolePolicy", "DeleteRolePolicy"
OPERATIONS = frozenset({PUT, GET, DELETE})


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
    constraint.refuse(
        [
            *constraint.ROLE_NAME.violations(role, "roleName"),
            *constraint.POLICY_NAME.violations(name, "policyName"),
            *(constraint.DOCUMENT.violations(document, "policyDocument") if operation == PUT else ()),
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
    if version == VERSION and action in OPERATIONS:
        return action
    raise Declined("InvalidAction", f"Could not find operation {action} for version {version}", namespace=FAULT)
