"""Sessions of the tenant that the table at hand belongs to."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from keyfence.domains.sessions.access import revocation_of_session, revocations
from keyfence.domains.sessions.model import revoked
from keyfence.store import clock
from keyfence.store.note import Note
from keyfence.store.table import Table
from keyfence.store.write import put


@dataclass(frozen=True, slots=True)
class Sessions:
    """What can be asked and done about sessions."""

    table: Table
    now: Callable[[], datetime] = clock.now

    async def is_revoked(self, jti: str) -> bool:
        found = await self.table.find(revocation_of_session, jti=jti)
        return found is not None and found.holds(self.now())

    async def revoke(self, jti: str, by: str) -> None:
        """Whether or not there is such a token: nobody has a list of them."""
        revocation = revoked(jti, by, self.now())
        await self.table.write(put(revocations, revocation), note=Note("session.revoked", revocation.jti))
