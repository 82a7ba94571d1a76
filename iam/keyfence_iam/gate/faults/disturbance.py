"""What faults do to a call."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from keyfence_iam.gate.answer import Answer, Refusal, error
from keyfence_iam.gate.faults.fault import Fault
from keyfence_iam.gate.query import xml
from keyfence_iam.gate.query.xml import failure

Error = Callable[[str, str, int], Answer]


class HungUp(Exception):
    """The caller gets no answer: its connection is closed."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """How a service says that it failed, and that it was asked too often."""

    error: Error
    failed: str
    throttled: str


def _iam_failure(code: str, message: str, status: int) -> Answer:
    return failure(code, message, status, namespace=xml.IAM)


DYNAMODB = Defaults(error, "InternalServerError", "ProvisionedThroughputExceededException")
STS = Defaults(failure, "InternalFailure", "Throttling")
IAM = Defaults(_iam_failure, "ServiceFailure", "Throttling")


async def disturb(faults: Iterable[Fault], defaults: Defaults) -> bool:
    """Whether the answer is to be lost; latencies add up, then the first fault of another kind decides."""
    struck = tuple(faults)
    if delay := sum(fault.milliseconds for fault in struck):
        await asyncio.sleep(delay / 1000)
    decisive = next((fault for fault in struck if fault.kind != "latency"), None)
    if decisive is None or decisive.kind == "lost_response":
        return decisive is not None
    if decisive.kind == "lost_request":
        raise HungUp
    raise Refusal(_answer(decisive, defaults))


def _answer(fault: Fault, defaults: Defaults) -> Answer:
    if fault.kind == "throttle":
        return defaults.error(fault.code or defaults.throttled, fault.message or "Rate exceeded (gate: fault)", 400)
    message = fault.message or "Internal server error (gate: fault)"
    return defaults.error(fault.code or defaults.failed, message, fault.status or 500)
