"""Units that come back at a rate: what is left to one partition."""

from dataclasses import dataclass


@dataclass(slots=True)
class Bucket:
    """Holds `burst` at most. It can be overdrawn, and is closed until it is out of debt."""

    rate: float
    burst: float
    balance: float
    filled_at: float

    def left(self, now: float) -> float:
        self.balance = min(self.burst, self.balance + self.rate * (now - self.filled_at))
        self.filled_at = now
        return self.balance

    def take(self, units: float, now: float) -> None:
        """Less than nothing gives back what was taken before."""
        self.balance = self.left(now) - units
