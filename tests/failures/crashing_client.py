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


def raise_crash() -> NoReturn:
    raise Crash


def kill_process() -> NoReturn:
    """Ends this process with SIGKILL."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


@dataclass(slots=True)
class CrashingClient:
    """Sends calls to `client`, and crashes at call number `call_number`, counted from 0."""

    client: DynamoDb
    call_number: int
    moment: Moment
    """Whether it crashes before the call is sent, or after the answer has arrived."""
    crash: Callable[[], NoReturn] = raise_crash
    call_numbers: Iterator[int] = field(default_factory=itertools.count)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        is_crash_point = next(self.call_numbers) == self.call_number
        if is_crash_point and self.moment == "before":
            self.crash()
        answer = await self.client.call(operation, parameters, credentials)
        if is_crash_point:
            self.crash()
        return answer

    def close(self) -> None:
        self.client.close()
