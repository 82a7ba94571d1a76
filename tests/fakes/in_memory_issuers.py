"""The stored issuers of tenants, in memory. A test can make lookups fail or wait."""

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
    mapping: str | None = None


@dataclass
class InMemoryIssuers:
    """Lookups wait until `may_answer` is set, and fail while `is_down` is true."""

    issuers: dict[str, StoredIssuer] = field(default_factory=dict)
    lookups: list[str] = field(default_factory=list)
    """The URLs of all lookups."""
    is_down: bool = False
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.may_answer.set()

    def store(self, issuer: str, tenant: str, jwks: object, mapping: object = None) -> None:
        mapping_text = None if mapping is None else json.dumps(mapping)
        self.issuers[issuer] = StoredIssuer(issuer, TenantId(tenant), jwks=json.dumps(jwks), mapping=mapping_text)

    async def find_record(self, url: str) -> StoredIssuer | None:
        """Returns the issuer as it was when the lookup started, even if the answer is delayed."""
        self.lookups.append(url)
        issuer = self.issuers.get(url)
        await self.may_answer.wait()
        if self.is_down:
            raise Internal("down")
        return issuer


@dataclass
class ManualSleep:
    """A sleep that moves the clock instead of waiting."""

    clock: ManualClock

    async def __call__(self, seconds: float) -> None:
        wakes_at = self.clock.now + seconds
        await asyncio.sleep(0)
        self.clock.now = max(self.clock.now, wakes_at)


def fail_to_fetch(uri: str | None, issuer: str) -> KeySet:
    """Replaces the fetch of keys in tests whose issuers have no jwks_uri."""
    raise AssertionError(f"keys of {issuer} are fetched from {uri}")
