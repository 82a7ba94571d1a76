"""What the strict gate refuses beyond AWS: writes whose index keys leave the caller's boundary."""

from keyfence_iam.boundary import CONTROL, tenant_boundary
from keyfence_iam.evaluator.authorisation import Authorisation
from keyfence_iam.evaluator.requests import NotUnderstood, index_values
from keyfence_iam.gate.call import Call
from keyfence_iam.policies.tag import TENANT_TAG


def leaving(call: Call) -> str | None:
    """Why this write leaves the boundary: a tenant's, or that of the control plane where no tenant is the caller."""
    tenant = next((value for key, value in call.session.tags.items() if key.casefold() == TENANT_TAG), None)
    boundary = CONTROL if tenant is None else tenant_boundary(tenant)
    try:
        for attribute, value in index_values(call.operation, call.parameters, call.keys):
            if value is None or not value.startswith(boundary):
                return f"the index key attribute {attribute} leaves the caller's boundary {boundary}"
    except NotUnderstood as reason:
        return f"what it writes into indexes is not understood: {reason}"
    return None


def message(session_arn: str, asked: Authorisation, reason: str) -> str:
    """AWS says nothing of the kind, and this does not pretend that it did."""
    return (
        f"User: {session_arn} is not authorized to perform: {asked.action} on resource: {asked.resource}"
        f" (strict gate: {reason})"
    )
