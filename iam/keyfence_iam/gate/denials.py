"""`DenialLog`: the latest calls that the gate denied, and why, for tests, metrics and the console."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from keyfence_iam.evaluator.decision import Denied
from keyfence_iam.evaluator.evaluation_logic import evaluate
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import Session

MAX_DENIALS = 1000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeniedCall:
    """A denied call: the message in the response, and the reason, which the response does not contain."""

    denied_at: datetime
    session_arn: str
    operation: str
    action: str
    resource: str
    message: str
    reason: str
    decision: Denied | None = None
    """None if no policy decided: the gate does not support the request, or the index key check failed."""


OnDenied = Callable[[DeniedCall], None]


def ignore(_: DeniedCall) -> None:
    """Does nothing."""


class DenialLog:
    """Keeps the latest denials, oldest first, and passes each to `on_denied`."""

    def __init__(self, on_denied: OnDenied = ignore) -> None:
        self._denials: deque[DeniedCall] = deque(maxlen=MAX_DENIALS)
        self._on_denied = on_denied

    def add(self, denial: DeniedCall) -> None:
        """An error in the callback must not change the response to the denied caller. It is logged."""
        self._denials.append(denial)
        try:
            self._on_denied(denial)
        except Exception:
            logger.exception("the callback for denied calls failed")

    def clear(self) -> None:
        self._denials.clear()

    def __iter__(self) -> Iterator[DeniedCall]:
        return iter(tuple(self._denials))

    def __len__(self) -> int:
        return len(self._denials)


def first_denied(
    requests: tuple[AuthorizationRequest, ...],
    context: Mapping[str, ContextValue],
    session: Session,
    account: Account,
) -> tuple[AuthorizationRequest, Denied] | None:
    """Evaluates all authorization requests of a call. Returns the first that is denied, or None if all are allowed."""
    for request in _distinct(requests):
        policies = session.policies_for(account.resource_policies.get(request.resource, ()))
        with_context = AuthorizationRequest(request.action, request.resource, {**context, **request.context})
        decision = evaluate(policies, with_context, session.principal)
        if isinstance(decision, Denied):
            return request, decision
    return None


def _distinct(requests: tuple[AuthorizationRequest, ...]) -> Iterable[AuthorizationRequest]:
    """Equal requests of one call have the same decision and are evaluated once. The order is kept."""
    if len(requests) == 1:
        return requests
    return {(one.action, one.resource, *one.context.items()): one for one in requests}.values()
