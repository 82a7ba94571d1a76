"""Tokens that come back at a rate: what is left of a tenant's quota in this process."""

from dataclasses import dataclass

BURST_SECONDS = 2.0


@dataclass(slots=True)
class Bucket:
    """Holds two seconds' worth at most, or `least` where that is more. It can be overdrawn: then it is in debt."""

    rate: float
    filled_at: float
    least: float = 0.0
    balance: float = 0.0

    @classmethod
    def full(cls, rate: float, now: float, least: float = 0.0) -> "Bucket":
        made = cls(rate, now, least)
        made.balance = made.burst
        return made

    @property
    def burst(self) -> float:
        return max(self.rate * BURST_SECONDS, self.least)

    def wait(self, needed: float, now: float) -> float:
        """Seconds until so much is there; nothing where it is."""
        self._fill(now)
        return (needed - self.balance) / self.rate if self.balance < needed else 0.0

    def take(self, amount: float, now: float) -> None:
        self._fill(now)
        self.balance -= amount

    def is_full(self, now: float) -> bool:
        self._fill(now)
        return self.balance >= self.burst

    def fit(self, rate: float, now: float) -> None:
        """Another rate from now on; what is there, or owed, stays."""
        self._fill(now)
        self.rate = rate
        self.balance = min(self.balance, self.burst)

    def _fill(self, now: float) -> None:
        self.balance = min(self.burst, self.balance + self.rate * (now - self.filled_at))
        self.filled_at = now
