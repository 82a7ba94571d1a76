"""`TokenBucket`: a rate limiter for capacity units, requests, STS calls and lookups of token issuers."""

from dataclasses import dataclass
from math import inf

CALL_BURST_SECONDS = 2.0
"""The burst of a call budget is the number of calls that its rate allows in this time."""
CALL_RESERVE_SHARE = 0.1
"""The share of the burst that is reserved for renewals of sessions."""


@dataclass(slots=True)
class TokenBucket:
    """A bucket that refills at `rate` tokens a second, up to `burst` tokens.

    `take` can make the balance negative. `try_take` never does. The last `reserve` tokens are only for callers that
    pass `use_reserve`.
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
        """Refills the bucket and returns its balance. A clock that goes back adds no tokens."""
        self.balance = min(self.burst, self.balance + self.rate * max(0.0, now - self.filled_at))
        self.filled_at = now
        return self.balance

    def is_full(self, now: float) -> bool:
        return self.available(now) >= self.burst

    def take(self, tokens: float, now: float) -> None:
        """Takes the tokens, even if the balance becomes negative. A negative number gives tokens back."""
        self.balance = self.available(now) - tokens

    def try_take(self, tokens: float, now: float, *, use_reserve: bool = False) -> bool:
        """Takes the tokens and returns True, or returns False if the balance is too low."""
        if self.available(now) < self._needed_balance(tokens, use_reserve=use_reserve):
            return False
        self.balance -= tokens
        return True

    def seconds_until(self, tokens: float, now: float, *, use_reserve: bool = False) -> float:
        """Returns the seconds after which `try_take` with the same arguments succeeds, or 0 if it succeeds now."""
        missing = self._needed_balance(tokens, use_reserve=use_reserve) - self.available(now)
        return missing / self.rate if missing > 0 else 0.0

    def resize(self, rate: float, burst: float, now: float) -> None:
        """Changes rate and burst from now on. The balance stays the same, but is cut to the new burst."""
        self.available(now)
        self.rate, self.burst = rate, burst
        self.balance = min(self.balance, burst)

    def _needed_balance(self, tokens: float, *, use_reserve: bool) -> float:
        return tokens if use_reserve else tokens + self.reserve


def call_budget(calls_per_second: float) -> TokenBucket:
    """Returns a full bucket for calls to another service.

    It reserves a part of the burst for renewals. Thus tenants that already have a session keep it, even if very many
    new tenants arrive.
    """
    burst = max(1.0, calls_per_second * CALL_BURST_SECONDS)
    return TokenBucket(calls_per_second, burst, burst, filled_at=-inf, reserve=CALL_RESERVE_SHARE * (burst - 1.0))
