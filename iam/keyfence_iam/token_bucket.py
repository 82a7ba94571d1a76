"""`TokenBucket`: rate, burst, debt, reserve, time until so much is there."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class TokenBucket:
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


SECONDS_SAVED = 2.0
RESERVE = 0.1


@dataclass(slots=True)
class Budget:
    """A bucket that fills at `rate` calls a second and holds two seconds' worth.

    A tenth of it is kept for renewals, so that new tenants cannot starve those who are being served.
    """

    rate: float = 50.0
    _level: float = field(init=False)
    _filled_at: float | None = None

    def __post_init__(self) -> None:
        self._level = self.burst

    @property
    def burst(self) -> float:
        return max(1.0, self.rate * SECONDS_SAVED)

    def take(self, now: float, *, renewal: bool = False) -> bool:
        self._fill(now)
        affordable = self._level >= self._needed(renewal=renewal)
        self._level -= affordable
        return affordable

    def wait(self, *, renewal: bool = False) -> float:
        """Seconds until the next call can be afforded."""
        return max(0.0, self._needed(renewal=renewal) - self._level) / self.rate

    def _needed(self, *, renewal: bool) -> float:
        return 1.0 if renewal else 1.0 + RESERVE * (self.burst - 1.0)

    def _fill(self, now: float) -> None:
        passed = 0.0 if self._filled_at is None else max(0.0, now - self._filled_at)
        self._level = min(self.burst, self._level + passed * self.rate)
        self._filled_at = now
