"""Where revocations are kept and the way they are reached."""

from keyfence.domains.sessions.model import Revocation
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey

revocations = entity(Revocation, table=TenantKey("SESSION#{jti}", "METADATA"))

revocation_of_session = revocations.get()
