"""`TokenBucket`: the one rate limiter of the project, for capacity units, requests, STS calls and issuer lookups."""

from dataclasses import dataclass
from math import inf

CALL_BURST_SECONDS = 2.0
CALL_RESERVE = 0.1


@dataclass(slots=True)
class TokenBucket:
    """Refills at `rate` tokens a second and holds at most `burst`.

    `take` can overdraw the balance: it is then negative until the debt is refilled. `try_take` never overdraws.
    The last `reserve` tokens are only for callers that pass `use_reserve`.
    """

    rate: float
    burst: float
    balance: float
    filled_at: float
    reserve: float = 0.0

    @classmethod
    def full(cls, rate: float, burst: float, now: float) -> "TokenBucket":
        return cls(rate, burst, burst, now)

    def available(self, now: float) -> float:
        """Refills the bucket and returns its balance. A clock that goes back refills nothing."""
        self.balance = min(self.burst, self.balance + self.rate * max(0.0, now - self.filled_at))
        self.filled_at = now
        return self.balance

    def is_full(self, now: float) -> bool:
        return self.available(now) >= self.burst

    def take(self, tokens: float, now: float) -> None:
        """Takes the tokens, into debt if necessary. A negative number gives tokens back."""
        self.balance = self.available(now) - tokens

    def try_take(self, tokens: float, now: float, *, use_reserve: bool = False) -> bool:
        """Takes the tokens if they are there and returns whether they were."""
        if self.available(now) < self._needed(tokens, use_reserve=use_reserve):
            return False
        self.balance -= tokens
        return True

    def seconds_until(self, tokens: float, now: float, *, use_reserve: bool = False) -> float:
        missing = self._needed(tokens, use_reserve=use_reserve) - self.available(now)
        return missing / self.rate if missing > 0 else 0.0

    def resize(self, rate: float, burst: float, now: float) -> None:
        """Changes rate and burst from now on. The balance stays, up to the new burst; so does a debt."""
        self.available(now)
        self.rate, self.burst = rate, burst
        self.balance = min(self.balance, burst)

    def _needed(self, tokens: float, *, use_reserve: bool) -> float:
        return tokens if use_reserve else tokens + self.reserve


def call_budget(calls_per_second: float) -> TokenBucket:
    """Returns a full bucket for calls to another service, with a burst of two seconds.

    It reserves a tenth for renewals. Callers that are already served keep their sessions, however many new ones arrive.
    """
    burst = max(1.0, calls_per_second * CALL_BURST_SECONDS)
    return TokenBucket(calls_per_second, burst, burst, filled_at=-inf, reserve=CALL_RESERVE * (burst - 1.0))
