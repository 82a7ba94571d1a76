"""Who may look at the traffic of partitions, and what is shown."""

from keyfence_iam.gate.answer import Answer, error, json_answer
from keyfence_iam.gate.session import Session
from keyfence_iam.gate.state import Rules
from keyfence_iam.policies.names import PROVISIONER

TRAFFIC = b"/traffic"
_DENIED = "Only the provisioner sees the traffic of partitions: their keys may name people."


def answer(session: Session, rules: Rules) -> Answer:
    """Neither tenants nor the roles of a running service, nor a session that was restricted in any way."""
    seer = f"{rules.sessions.account.deployment.role_prefix}{PROVISIONER}"
    if session.role.name != seer or session.policies is not None:
        return error("AccessDeniedException", _DENIED)
    if rules.limits is None:
        return error("ResourceNotFoundException", "This gate runs without partition limits.", 404)
    return json_answer(rules.limits.seen(), 200)
