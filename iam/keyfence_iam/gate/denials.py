"""`first_denied`: decides whether a call is denied. `DenialLog`: keeps the latest denied calls and their reasons."""

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
"""The number of denials that the log keeps. Older denials are dropped to limit the memory."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeniedCall:
    """A call that the gate denied."""

    denied_at: datetime
    session_arn: str
    operation: str
    action: str
    resource: str
    message: str
    """The message in the response."""
    reason: str
    """The reason for the log. It can have more details than the message."""
    decision: Denied | None = None
    """The decision of the policies. None if the gate itself denied the call: the request is not supported, or it
    writes an index key outside the session's key prefix."""


OnDenied = Callable[[DeniedCall], None]
"""A function that receives each denied call."""


def ignore_denial(_: DeniedCall) -> None:
    """Does nothing with the denied call."""


class DenialLog:
    """Keeps the latest denials, the oldest first, and passes each new denial to `on_denied`."""

    def __init__(self, on_denied: OnDenied = ignore_denial) -> None:
        self._denials: deque[DeniedCall] = deque(maxlen=MAX_DENIALS)
        self._on_denied = on_denied

    def add(self, denial: DeniedCall) -> None:
        """Adds a denial and calls the callback.

        An error in the callback is logged. It must not change the response to the denied caller.
        """
        self._denials.append(denial)
        try:
            self._on_denied(denial)
        except Exception:
            logger.exception("the callback on_denied failed; the call stays denied")

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
    """Evaluates the authorization requests of a call.

    Returns the first denied request with its decision, or None if all requests are allowed.
    """
    for request in _distinct(requests):
        policies = session.policies_for(account.resource_policies.get(request.resource, ()))
        complete_request = AuthorizationRequest(request.action, request.resource, {**context, **request.context})
        decision = evaluate(policies, complete_request, session.principal)
        if isinstance(decision, Denied):
            return request, decision
    return None


def _distinct(requests: tuple[AuthorizationRequest, ...]) -> Iterable[AuthorizationRequest]:
    """Returns the requests without repetitions, in their order: equal requests of a call have the same decision."""
    if len(requests) == 1:
        return requests
    return {(request.action, request.resource, *request.context.items()): request for request in requests}.values()
