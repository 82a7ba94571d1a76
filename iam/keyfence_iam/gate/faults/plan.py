"""The faults of a running gate: which of them strike a call."""

import random
from collections.abc import Iterable
from threading import Lock

from keyfence_iam.gate.faults.fault import Fault


class Faults:
    """Counts the calls that each fault concerns; the same calls in the same order meet the same faults."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self.faults = tuple(faults)
        self._counters = tuple(_Counter(fault) for fault in self.faults)
        self._lock = Lock()

    def striking(self, service: str, operation: str, keys: tuple[str, ...] = ()) -> tuple[Fault, ...]:
        """Every fault counts the call, also one that another fault ends before it."""
        if not self._counters:
            return ()
        with self._lock:
            concerned = [one for one in self._counters if one.fault.concerns(service, operation, keys)]
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
