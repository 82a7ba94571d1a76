"""Which faults are due, and what they do to a call."""

import asyncio
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock

from keyfence_iam.gate.faults import Fault
from keyfence_iam.gate.http import query_protocol
from keyfence_iam.gate.http.messages import HttpResponse, ResponseError, dynamodb_error
from keyfence_iam.gate.http.query_protocol import xml_error


class FaultPlan:
    """Counts the calls that each fault concerns; the same calls in the same order meet the same faults."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self.faults = tuple(faults)
        self._counters = tuple(_Counter(fault) for fault in self.faults)
        self._lock = Lock()

    def due_faults(self, service: str, operation: str, keys: tuple[str, ...] = ()) -> tuple[Fault, ...]:
        """Every fault counts the call, also one that another fault ends before it."""
        if not self._counters:
            return ()
        with self._lock:
            concerned = [one for one in self._counters if one.fault.applies_to(service, operation, keys)]
            return tuple(one.fault for one in concerned if one.strikes())


class _Counter:
    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self._random = random.Random(fault.seed)  # noqa: S311 - repeatable is what is wanted
        self._seen = 0
        self._struck = 0

    def strikes(self) -> bool:
        self._seen += 1
        strikes = self._due() and (self.fault.times is None or self._struck < self.fault.times)
        self._struck += strikes
        return strikes

    def _due(self) -> bool:
        fault = self.fault
        if fault.nth is not None:
            return self._seen == fault.nth
        if fault.every is not None:
            return self._seen % fault.every == 0
        return fault.probability is None or self._random.random() < fault.probability


Error = Callable[[str, str, int], HttpResponse]


class ConnectionDropped(Exception):
    """The caller gets no answer: its connection is closed."""


@dataclass(frozen=True, slots=True)
class ErrorDefaults:
    """How a service says that it failed, and that it was asked too often."""

    error: Error
    failed: str
    throttled: str


def _iam_failure(code: str, message: str, status: int) -> HttpResponse:
    return xml_error(code, message, status, namespace=query_protocol.IAM)


DYNAMODB = ErrorDefaults(dynamodb_error, "InternalServerError", "ProvisionedThroughputExceededException")
STS = ErrorDefaults(xml_error, "InternalFailure", "Throttling")
IAM = ErrorDefaults(_iam_failure, "ServiceFailure", "Throttling")


async def inject(faults: Iterable[Fault], defaults: ErrorDefaults) -> bool:
    """Whether the answer is to be lost; latencies add up, then the first fault of another kind decides."""
    struck = tuple(faults)
    if delay := sum(fault.milliseconds for fault in struck):
        await asyncio.sleep(delay / 1000)
    decisive = next((fault for fault in struck if fault.kind != "latency"), None)
    if decisive is None or decisive.kind == "lost_response":
        return decisive is not None
    if decisive.kind == "lost_request":
        raise ConnectionDropped
    raise ResponseError(_answer(decisive, defaults))


def _answer(fault: Fault, defaults: ErrorDefaults) -> HttpResponse:
    if fault.kind == "throttle":
        return defaults.error(fault.code or defaults.throttled, fault.message or "Rate exceeded (gate: fault)", 400)
    message = fault.message or "Internal server error (gate: fault)"
    return defaults.error(fault.code or defaults.failed, message, fault.status or 500)
