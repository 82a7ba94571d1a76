"""A process that dies at one of its calls to DynamoDB, before it is made or before its answer is read."""

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
    """Nothing that runs in a process hears of its death."""


def crash() -> NoReturn:
    raise Crash


def kill_process() -> NoReturn:
    """By the system, at once."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


@dataclass(slots=True)
class CrashingClient:
    """A client whose process does not survive its call number `at`."""

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
