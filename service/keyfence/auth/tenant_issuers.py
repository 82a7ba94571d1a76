"""Issuers that tenants own: looked up, cached, invalidated; their key sets."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol, TypeVar

import orjson

from keyfence.auth.issuer import Issuer, is_issuer_url
from keyfence.auth.jwks import VerificationKey, parse_jwks_leniently
from keyfence.auth.key_sets import FixedKeys, KeySet, keep_unchanged
from keyfence.errors import Throttled
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import TokenBucket

LookAgain = Callable[["TenantKeySet"], Awaitable[None]]


@dataclass(slots=True, eq=False, kw_only=True)
class TenantKeySet:
    """`seen_at` is when it was last asked whose they are.

    A kid that is unknown may be of a key that was given to us just now, so somebody looks again before it is called
    wrong."""

    keys: KeySet
    max_age: float
    clock: Callable[[], float]
    refresh: LookAgain
    looked_up_at: float = -math.inf

    async def find(self, kid: str) -> VerificationKey | None:
        if (key := await self.keys.find(kid)) is not None:
            return key
        await self.refresh(self)
        return await self.keys.find(kid)

    def contains(self, key: VerificationKey) -> bool:
        return self.is_fresh() and self.keys.contains(key)

    def is_fresh(self) -> bool:
        return self.clock() - self.looked_up_at < self.max_age

    def revoke(self) -> None:
        """They are nobody's any more, or somebody else's."""
        self.keys = FixedKeys({})


class IssuerRecord(Protocol):
    """`jwks` is JSON text, `jwks_uri` an address; one of them is there."""

    @property
    def issuer(self) -> str: ...
    @property
    def tenant(self) -> TenantId: ...
    @property
    def jwks(self) -> str | None: ...
    @property
    def jwks_uri(self) -> str | None: ...


def keys_digest(owned: IssuerRecord) -> bytes:
    """By which it is seen whether the keys have changed, however long their text is."""
    return sha256(repr((owned.jwks, owned.jwks_uri)).encode()).digest()


MAX_AGE = 5.0
ABSENT_SECONDS = 1.0
EARLY_LOOKUP_INTERVAL = 1.0
MAX_CACHED_ISSUERS = 10_000

V = TypeVar("V")


@dataclass(slots=True, eq=False, kw_only=True)
class _Known:
    issuer: Issuer
    keys: TenantKeySet
    imprint: bytes
    early_at: float = -math.inf


@dataclass(slots=True, eq=False)
class _Look:
    began_at: float
    task: "asyncio.Task[Issuer | None]"


class TenantIssuers:
    """By their url, as they were at most `max_age` seconds ago; what cannot be looked up anew is not guessed.

    There is one look at a time for each url, however many wait for it. Looks for issuers that are not known, and those
    that an unknown kid makes necessary, have an allowance: whoever makes names up gets Throttled, and nobody else."""

    def __init__(
        self,
        look_up: Callable[[str], Awaitable[IssuerRecord | None]],
        fetched_keys: Callable[[str, str], KeySet],
        budget: TokenBucket,
        *,
        max_age: float = MAX_AGE,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        max_cached: int = MAX_CACHED_ISSUERS,
    ) -> None:
        self._look_up, self._published, self._budget = look_up, fetched_keys, budget
        self._max_age, self._clock, self._sleep, self._largest = max_age, clock, sleep, max_cached
        self._known: dict[str, _Known] = {}
        self._absent: dict[str, float] = {}
        self._looks: dict[str, _Look] = {}

    @property
    def remembered(self) -> int:
        return len(self._known) + len(self._absent) + len(self._looks)

    async def find(self, url: str) -> Issuer | None:
        known = self._known.get(url)
        if known is not None:
            return known.issuer if known.keys.is_fresh() else await self._seen(url, self._clock() - self._max_age)
        now = self._clock()
        if not is_issuer_url(url) or now - self._absent.get(url, -math.inf) < ABSENT_SECONDS:
            return None
        return await self._seen(url, now - ABSENT_SECONDS)

    def invalidate(self, url: str) -> None:
        """Something about it has changed in this very process: all that is known, or on its way, is too old."""
        self._absent.pop(url, None)
        if known := self._known.get(url):
            known.keys.looked_up_at = -math.inf
        if look := self._looks.pop(url, None):
            look.began_at = -math.inf

    async def _seen(self, url: str, since: float, *, early: bool = False) -> Issuer | None:
        """By a look that began no sooner. Whoever leaves leaves it to the others."""
        while True:
            look = self._looks.get(url) or self._begin(url, early=early)
            issuer = await asyncio.shield(look.task)
            if look.began_at >= since:
                return issuer

    async def _look_again(self, url: str, keys: TenantKeySet) -> None:
        """Those who come too soon after the last early look wait for the next one together."""
        known, asked_at = self._known.get(url), self._clock()
        if known is None or known.keys is not keys:
            return
        if (pause := known.early_at + EARLY_LOOKUP_INTERVAL - asked_at) > 0:
            await self._sleep(pause)
        if keys.looked_up_at <= asked_at:
            await self._seen(url, asked_at, early=True)

    def _begin(self, url: str, *, early: bool) -> _Look:
        now, known = self._clock(), self._known.get(url)
        if (early or known is None) and not self._budget.try_take(1.0, now, use_reserve=early):
            wait = math.ceil(self._budget.seconds_until(1.0, now, use_reserve=early) * 1000)
            raise Throttled("too many issuers and keys are being looked for just now; try again", retryAfterMs=wait)
        if early and known is not None:
            known.early_at = now
        look = self._looks[url] = _Look(now, asyncio.create_task(self._looked(url)))
        look.task.add_done_callback(_heard)
        return look

    async def _looked(self, url: str) -> Issuer | None:
        look = self._looks[url]
        try:
            return self._take(url, await self._look_up(url), look)
        finally:
            if self._looks.get(url) is look:
                del self._looks[url]

    def _take(self, url: str, owned: IssuerRecord | None, look: _Look) -> Issuer | None:
        """What was seen later is not taken back by a look that took longer."""
        known = self._known.get(url)
        if known is not None and look.began_at < known.keys.looked_up_at:
            return known.issuer
        self._known.pop(url, None)
        if known is not None and (owned is None or owned.tenant != known.issuer.tenant):
            known.keys.revoke()
            known = None
        if owned is None:
            _keep(self._absent, url, look.began_at, self._largest)
            return None
        self._absent.pop(url, None)
        kept = self._renewed(known, owned) if known else self._new(owned)
        kept.keys.looked_up_at = look.began_at
        _keep(self._known, url, kept, self._largest)
        return kept.issuer

    def _new(self, owned: IssuerRecord) -> _Known:
        keys = TenantKeySet(
            keys=self._keys(owned, FixedKeys({})),
            max_age=self._max_age,
            clock=self._clock,
            refresh=lambda keys: self._look_again(owned.issuer, keys),
        )
        issuer = Issuer(url=owned.issuer, keys=keys, tenant=owned.tenant)
        return _Known(issuer=issuer, keys=keys, imprint=keys_digest(owned))

    def _renewed(self, known: _Known, owned: IssuerRecord) -> _Known:
        if (now := keys_digest(owned)) != known.imprint:
            known.imprint, known.keys.keys = now, self._keys(owned, known.keys.keys)
        return known

    def _keys(self, owned: IssuerRecord, before: KeySet) -> KeySet:
        if owned.jwks is None:
            return self._published(owned.jwks_uri or "", owned.issuer)
        given = parse_jwks_leniently(orjson.loads(owned.jwks))
        return FixedKeys(keep_unchanged(before.keys, given) if isinstance(before, FixedKeys) else given)


def _keep(memory: dict[str, V], url: str, value: V, largest: int) -> None:
    """What was kept longest ago makes room."""
    memory.pop(url, None)
    if len(memory) >= largest:
        del memory[next(iter(memory))]
    memory[url] = value


def _heard(task: "asyncio.Task[Issuer | None]") -> None:
    """An error is not lost when all who waited for it have gone: whoever comes next looks again."""
    if not task.cancelled():
        task.exception()
