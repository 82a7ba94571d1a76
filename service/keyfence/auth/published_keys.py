"""Key sets at the addresses that tenants gave, fetched in a few threads of their own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from keyfence.auth.http_get import BOUNDS, Bounds
from keyfence.auth.jwks_source import JwksSource
from keyfence.auth.jwks_uri import tenants_place
from keyfence.auth.keyset import FetchedKeys, Keys, KeySet, Pace
from keyfence.auth.reach import PUBLIC, Reach

THREADS = 16


class PublishedKeys:
    """One set is fetched by one thread at a time, so that a provider that is slow keeps no more than one busy.

    Nothing else of the process waits for these threads, however slow all of them are."""

    def __init__(
        self, *, reach: Reach = PUBLIC, bounds: Bounds = BOUNDS, pace: Pace | None = None, threads: int = THREADS
    ) -> None:
        self._reach, self._bounds, self._pace = reach, bounds, pace
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="jwks")

    def at(self, uri: str, issuer: str) -> KeySet:
        source = JwksSource(tenants_place(uri), self._reach, self._bounds)
        return FetchedKeys(source.fetch, pace=self._pace, run=self._run, issuer=issuer)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, fetch: Callable[[], Keys]) -> Keys:
        return await asyncio.get_running_loop().run_in_executor(self._threads, fetch)
