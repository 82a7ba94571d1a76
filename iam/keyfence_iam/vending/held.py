"""A session in hand."""

from dataclasses import dataclass

from keyfence_iam.credentials import Credentials


@dataclass(slots=True, kw_only=True)
class Held:
    """Credentials, until when they are handed out, and from when better ones are sought."""

    credentials: Credentials
    good_until: float
    renew_at: float
    used: bool
    """Since they were issued: a session that nobody used is not renewed."""
    failures: int = 0
    """Renewals that failed in a row."""

    def due(self, now: float) -> bool:
        """To be renewed, or to be let go."""
        return now >= self.good_until or (self.used and now >= self.renew_at)
