"""Whether a token still stands, asked for every request."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from keyfence.domains.sessions.repository import Sessions
from keyfence.errors import Unauthenticated
from keyfence_iam.boundary import TenantId

REMEMBERED = 10_000

Token = tuple[TenantId, str]


@dataclass(slots=True)
class Standing:
    """Refuses revoked tokens; that one is good may be believed for `seconds`, that it is not never."""

    seconds: float = 0.0
    clock: Callable[[], float] = time.monotonic
    _good: dict[Token, float] = field(default_factory=dict)

    async def check(self, tenant: TenantId, jti: str, sessions: Callable[[], Sessions]) -> None:
        """`sessions` are the tenant's, wanted only if somebody has to be asked."""
        now, token = self.clock(), (tenant, jti)
        if now < self._good.get(token, now):
            return
        self._good.pop(token, None)
        if await sessions().is_revoked(jti):
            raise Unauthenticated("the token has been revoked")
        self._remember(token, now + self.seconds)

    def _remember(self, token: Token, until: float) -> None:
        if not self.seconds:
            return
        if len(self._good) >= REMEMBERED:
            self._good.pop(next(iter(self._good)))
        self._good[token] = until
