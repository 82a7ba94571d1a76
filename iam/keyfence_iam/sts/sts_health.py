"""`StsHealth`: whether STS issues sessions. It learns this from the requests of the session cache."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from threading import Lock

import structlog

from keyfence_iam.roles.names import CONTROL_PLANE, TENANT_READ, TENANT_WRITE
from keyfence_iam.sts.session_spec import SessionRefused, SessionSpec, SessionUnavailable

SERVING_ROLES = frozenset({CONTROL_PLANE, TENANT_READ, TENANT_WRITE})
"""The roles that requests of tenants need. If STS refuses another role, the server can still serve tenants."""
LOG_INTERVAL_SECONDS = 10.0
"""The shortest time between two logged problems of one role, and between two logged outages.

Without this limit, an STS that fails now and then would fill the log.
"""
REFUSAL_ADVICE = (
    "compare the trust policy of the role and the policy of this process with the output of `keyfence policy render`,"
    " and check the credentials of this process"
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Problem:
    """An outage of STS, or a role that STS refuses."""

    failed_spec: SessionSpec
    """The session whose request failed last."""
    is_logged: bool


class StsHealth:
    """Records the results of requests to STS, from any thread. Logs when a problem begins and when it ends.

    A request that fails with SessionRefused is a problem of its role. Any other failure is an outage of STS for all
    roles. The next session that STS issues ends the outage, and the problem of its own role.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._outage: Problem | None = None
        self._refused_roles: dict[str, Problem] = {}
        self._logged_at: dict[str | None, float] = {}
        """When a problem was logged last, by role. The key None stands for an outage."""

    @property
    def problem(self) -> str | None:
        """Why the server cannot serve all tenants, or None if it can. The text contains no secrets."""
        with self._lock:
            if self._outage:
                return "STS cannot be reached, or answers errors"
            refused_roles = sorted(SERVING_ROLES & self._refused_roles.keys())
        return f"STS refuses sessions of the role {refused_roles[0]}" if refused_roles else None

    def failed_specs(self) -> list[SessionSpec]:
        """Returns one session for each problem. If STS issues the session, the problem is over."""
        with self._lock:
            problems = [*self._refused_roles.values(), *([self._outage] if self._outage else [])]
        return [problem.failed_spec for problem in problems]

    def record_session(self, spec: SessionSpec) -> None:
        """Records that STS has issued a session."""
        if self._outage is None and not self._refused_roles:
            return
        with self._lock:
            ended_problems = [self._outage, self._refused_roles.pop(spec.role, None)]
            self._outage = None
        if any(problem and problem.is_logged for problem in ended_problems):
            with suppress(Exception):
                log.info("session_available", role=spec.role)

    def record_failure(self, spec: SessionSpec, error: SessionUnavailable) -> None:
        """Records that a request has failed. An error of the log is ignored: callers must get the failure itself."""
        is_refusal = isinstance(error, SessionRefused)
        with self._lock:
            should_log = self._record_refusal(spec) if is_refusal else self._record_outage(spec)
        if should_log:
            with suppress(Exception):
                _log_problem(spec, error)

    def _record_refusal(self, spec: SessionSpec) -> bool:
        """Records a refusal, and returns whether to log it. A refusal ends an outage, because STS has answered."""
        self._outage = None
        known = self._refused_roles.get(spec.role)
        should_log = known is None and self._may_log(spec.role)
        self._refused_roles[spec.role] = replace(known, failed_spec=spec) if known else Problem(spec, should_log)
        return should_log

    def _record_outage(self, spec: SessionSpec) -> bool:
        """Records an outage, and returns whether to log it."""
        known = self._outage
        should_log = known is None and self._may_log(None)
        self._outage = replace(known, failed_spec=spec) if known else Problem(spec, should_log)
        return should_log

    def _may_log(self, role: str | None) -> bool:
        now = self._clock()
        if now - self._logged_at.get(role, -inf) < LOG_INTERVAL_SECONDS:
            return False
        self._logged_at[role] = now
        return True


def _log_problem(spec: SessionSpec, error: SessionUnavailable) -> None:
    if isinstance(error, SessionRefused):
        log.error(
            "session_refused",
            role=spec.role,
            tenant=spec.tenant,
            scope=spec.scope,
            reason=str(error),
            to_do=REFUSAL_ADVICE,
        )
    else:
        log.error("session_unavailable", role=spec.role, tenant=spec.tenant, scope=spec.scope, reason=str(error))
