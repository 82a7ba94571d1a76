"""Where revocations are kept and the way they are reached."""

from service.domains.sessions.model import Revocation
from service.store.entity import entity
from service.store.keys import TenantKey

revocations = entity(Revocation, table=TenantKey("SESSION#{jti}", "METADATA"))

revocation_of_session = revocations.get()
