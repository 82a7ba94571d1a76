"""Revocations, and the rules that hold without looking anything up."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from keyfence.auth.claims import LEEWAY, LONGEST_LIFE, MAX_TEXT
from keyfence.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocation:
    """A token that is no longer good; `ttl` is when no token with its id can be good any more, in epoch seconds."""

    jti: str
    by: str
    ttl: int
    created_at: datetime
    updated_at: datetime
    version: int = 1

    def holds(self, now: datetime) -> bool:
        """DynamoDB may take days to remove what has ended."""
        return now.timestamp() < self.ttl


def revoked(jti: str, by: str, now: datetime) -> Revocation:
    """Kept longer than any token lives that was issued until now, by clocks that differ as much as they may."""
    last = now + timedelta(seconds=LONGEST_LIFE + 2 * LEEWAY + 1)
    return Revocation(jti=checked_jti(jti), by=by, ttl=int(last.timestamp()), created_at=now, updated_at=now)


def checked_jti(jti: str) -> str:
    if not 0 < len(jti) <= MAX_TEXT or not jti.isprintable():
        raise BadInput(f"jti must be 1 to {MAX_TEXT} printable characters", field="jti")
    return jti
