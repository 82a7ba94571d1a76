"""`FaultPlan`: which faults are due for a call. `inject`: what they do to it."""

import asyncio
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock

from keyfence_iam.gate.faults import Fault
from keyfence_iam.gate.http.messages import HttpResponse, ResponseError, dynamodb_error
from keyfence_iam.gate.http.query_protocol import IAM_NAMESPACE, xml_error

ErrorResponse = Callable[[str, str, int], HttpResponse]
"""Makes a service's error response from a code, a message and a status."""


class ConnectionDropped(Exception):
    """The connection to the caller is closed without a response."""


class FaultPlan:
    """Counts the calls that each fault applies to. The same calls in the same order meet the same faults."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self.faults = tuple(faults)
        self._counters = tuple(_Counter(fault) for fault in self.faults)
        self._lock = Lock()

    def due_faults(self, service: str, operation: str, keys: tuple[str, ...] = ()) -> tuple[Fault, ...]:
        """Counts the call for every fault that applies to it, also if an earlier fault ends the call."""
        if not self._counters:
            return ()
        with self._lock:
            applicable = [counter for counter in self._counters if counter.fault.applies_to(service, operation, keys)]
            return tuple(counter.fault for counter in applicable if counter.count())


class _Counter:
    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self._random = random.Random(fault.seed)  # noqa: S311 - faults must be repeatable
        self._calls = 0
        self._injected = 0

    def count(self) -> bool:
        """Counts a call and returns whether the fault is due for it."""
        self._calls += 1
        due = self._is_due() and (self.fault.times is None or self._injected < self.fault.times)
        self._injected += due
        return due

    def _is_due(self) -> bool:
        fault = self.fault
        if fault.nth is not None:
            return self._calls == fault.nth
        if fault.every is not None:
            return self._calls % fault.every == 0
        return fault.probability is None or self._random.random() < fault.probability


@dataclass(frozen=True, slots=True)
class ServiceErrors:
    """A service's error responses, and its codes for an internal error and for throttling."""

    error_response: ErrorResponse
    internal_code: str
    throttling_code: str


def _iam_error(code: str, message: str, status: int) -> HttpResponse:
    return xml_error(code, message, status, namespace=IAM_NAMESPACE)


DYNAMODB_ERRORS = ServiceErrors(dynamodb_error, "InternalServerError", "ProvisionedThroughputExceededException")
STS_ERRORS = ServiceErrors(xml_error, "InternalFailure", "Throttling")
IAM_ERRORS = ServiceErrors(_iam_error, "ServiceFailure", "Throttling")


async def inject(faults: Iterable[Fault], errors: ServiceErrors) -> bool:
    """Sleeps for the sum of all latencies, then applies the first fault of another kind.

    Returns True if the response is to be dropped after the call. Raises ConnectionDropped for a lost request, and
    ResponseError for an error.
    """
    due = tuple(faults)
    if delay := sum(fault.milliseconds for fault in due):
        await asyncio.sleep(delay / 1000)
    fault = next((fault for fault in due if fault.kind != "latency"), None)
    if fault is None or fault.kind == "lost_response":
        return fault is not None
    if fault.kind == "lost_request":
        raise ConnectionDropped
    raise ResponseError(_error_response(fault, errors))


def _error_response(fault: Fault, errors: ServiceErrors) -> HttpResponse:
    if fault.kind == "throttle":
        message = fault.message or "Rate exceeded (gate: fault)"
        return errors.error_response(fault.code or errors.throttling_code, message, 400)
    message = fault.message or "Internal server error (gate: fault)"
    return errors.error_response(fault.code or errors.internal_code, message, fault.status or 500)
