"""The credentials that a process runs with, when it works with them itself."""

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from keyfence.errors import Internal
from keyfence_iam.credentials import Credentials


class Running(Protocol):
    """What is used of boto3's session."""

    def get_credentials(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Own:
    """Refreshed by boto3 when they are about to end, which takes a thread, since it may ask somebody."""

    running: Running

    async def __call__(self) -> Credentials:
        return await asyncio.to_thread(self._now)

    def _now(self) -> Credentials:
        if (found := self.running.get_credentials()) is None:
            raise Internal("this process runs with no credentials")
        frozen = found.get_frozen_credentials()
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token)
