"""How long sessions last, when they are renewed, and how patient everybody is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """All in seconds, but for the shares of a session's life between which it is renewed.

    With these numbers a session in use has more than five minutes to go when an outage of STS begins.
    """

    session: int = 900
    margin: float = 15.0
    """A session that ends sooner than this is not handed out: the call has to arrive while it is good."""
    earliest_renewal: float = 0.5
    latest_renewal: float = 0.6
    first_pause: float = 1.0
    longest_pause: float = 30.0
    refusal: float = 1.0
    """How long a session that could not be had is not asked for again."""
    replacement: float = 30.0
    """How long after a session was replaced because it was refused, no refusal has its successor replaced."""
    patience: float = 5.0
    """How long a caller waits for a session, and a fetch for its turn."""

    def renewal(self, chance: float) -> float:
        share = self.earliest_renewal + chance * (self.latest_renewal - self.earliest_renewal)
        return self.session * share

    def pause(self, failures: int, chance: float) -> float:
        """Half of it is left to chance, so that processes which failed together do not come back together."""
        whole = min(self.longest_pause, self.first_pause * 2.0 ** (failures - 1))
        return whole * (1.0 + chance) / 2.0
