"""`FaultPlan`: decides which faults are due for a call. `inject`: applies the due faults to the call."""

import asyncio
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock

from keyfence_iam.gate.fault_definition import Fault
from keyfence_iam.gate.http.messages import HttpResponse, ResponseError, dynamodb_error
from keyfence_iam.gate.http.query_protocol import IAM_NAMESPACE, xml_error

ErrorResponse = Callable[[str, str, int], HttpResponse]
"""A function that returns the error response of a service for an error code, a message and an HTTP status."""


class ConnectionDropped(Exception):
    """The connection to the caller is closed without a response."""


class FaultPlan:
    """Counts the calls that each fault applies to. The same calls in the same order get the same faults."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self.faults = tuple(faults)
        self._counters = tuple(_FaultCounter(fault) for fault in self.faults)
        self._lock = Lock()

    def due_faults(self, service: str, operation: str, partition_keys: tuple[str, ...] = ()) -> tuple[Fault, ...]:
        """Returns the faults that are due for this call.

        Every fault that applies to the call counts the call, even if an earlier fault in the list ends the call.
        """
        if not self._counters:
            return ()
        with self._lock:
            return tuple(
                counter.fault
                for counter in self._counters
                if counter.fault.applies_to(service, operation, partition_keys) and counter.count_call()
            )


class _FaultCounter:
    """Counts the calls that one fault applies to, and how often the fault was injected."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self._random = random.Random(fault.seed)  # noqa: S311 - faults must be repeatable
        self._call_count = 0
        self._injected_count = 0

    def count_call(self) -> bool:
        """Counts a call and returns whether the fault is due for it."""
        self._call_count += 1
        is_exhausted = self.fault.times is not None and self._injected_count >= self.fault.times
        is_due = self._selects_call() and not is_exhausted
        self._injected_count += is_due
        return is_due

    def _selects_call(self) -> bool:
        """Whether `nth`, `every` or `probability` selects the call that was just counted."""
        fault = self.fault
        if fault.nth is not None:
            return self._call_count == fault.nth
        if fault.every is not None:
            return self._call_count % fault.every == 0
        return fault.probability is None or self._random.random() < fault.probability


@dataclass(frozen=True, slots=True)
class ServiceErrors:
    """How a service reports errors: the format of its responses, and its codes for internal errors and throttling."""

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

    Returns True if the caller of this function must drop the response of the call. Raises ConnectionDropped for the
    kind `lost_request`, and ResponseError for the kinds `error` and `throttle`.
    """
    due_faults = tuple(faults)
    if delay_ms := sum(fault.milliseconds for fault in due_faults):
        await asyncio.sleep(delay_ms / 1000)
    fault = next((fault for fault in due_faults if fault.kind != "latency"), None)
    if fault is None:
        return False
    if fault.kind == "lost_response":
        return True
    if fault.kind == "lost_request":
        raise ConnectionDropped
    raise ResponseError(_error_response(fault, errors))


def _error_response(fault: Fault, errors: ServiceErrors) -> HttpResponse:
    if fault.kind == "throttle":
        message = fault.message or "Rate exceeded (gate: injected fault)"
        return errors.error_response(fault.code or errors.throttling_code, message, 400)
    message = fault.message or "Internal server error (gate: injected fault)"
    return errors.error_response(fault.code or errors.internal_code, message, fault.status or 500)
