"""The register of tenants' issuers, in memory. A test can make lookups fail or wait."""

import asyncio
import json
from dataclasses import dataclass, field

from keyfence.auth.key_set import KeySet
from keyfence.errors import Internal
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock


@dataclass(frozen=True, slots=True)
class StoredIssuer:
    issuer: str
    tenant: TenantId
    jwks: str | None = None
    jwks_uri: str | None = None


@dataclass
class TenantIssuerRegister:
    issuers: dict[str, StoredIssuer] = field(default_factory=dict)
    lookups: list[str] = field(default_factory=list)
    down: bool = False
    open: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.open.set()

    def store(self, issuer: str, tenant: str, jwks: object) -> None:
        self.issuers[issuer] = StoredIssuer(issuer, TenantId(tenant), jwks=json.dumps(jwks))

    async def look_up(self, url: str) -> StoredIssuer | None:
        """Returns the issuer as it was when the lookup started, also if the answer is delayed."""
        self.lookups.append(url)
        found = self.issuers.get(url)
        await self.open.wait()
        if self.down:
            raise Internal("down")
        return found


@dataclass
class ManualSleep:
    """Moves the clock instead of waiting."""

    clock: ManualClock

    async def __call__(self, seconds: float) -> None:
        until = self.clock.now + seconds
        await asyncio.sleep(0)
        self.clock.now = max(self.clock.now, until)


def fail_to_fetch(uri: str, issuer: str) -> KeySet:
    raise AssertionError(f"{issuer} publishes nothing at {uri}")
