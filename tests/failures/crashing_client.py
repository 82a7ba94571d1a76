"""A DynamoDB client that crashes at one call, before it is sent or before its response is read."""

import itertools
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence_iam.credentials import Credentials

Moment = Literal["before", "after"]


class Crash(BaseException):
    """A crash. It is no Exception, so that no handler of the service catches it."""


def crash() -> NoReturn:
    raise Crash


def kill_process() -> NoReturn:
    """Ends this process with SIGKILL."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


@dataclass(slots=True)
class CrashingClient:
    """Crashes at call number `at`."""

    client: DynamoDb
    at: int
    moment: Moment
    end: Callable[[], NoReturn] = crash
    count: Iterator[int] = field(default_factory=itertools.count)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        now = next(self.count) == self.at
        if now and self.moment == "before":
            self.end()
        answer = await self.client.call(operation, parameters, credentials)
        if now:
            self.end()
        return answer

    def close(self) -> None:
        self.client.close()
