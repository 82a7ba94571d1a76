"""The CPU time of a call in this process: the fastest of several rounds, since other processes disturb the others."""

import time
from collections.abc import Awaitable, Callable

ROUNDS = 5


def cpu_microseconds(work: Callable[[], object], calls: int) -> float:
    """Returns the CPU time of one call of `work`. All rounds together have this many calls."""
    calls_per_round = max(1, calls // ROUNDS)
    rounds = []
    for _ in range(ROUNDS):
        start = time.process_time_ns()
        for _ in range(calls_per_round):
            work()
        rounds.append((time.process_time_ns() - start) / calls_per_round / 1000)
    return min(rounds)


async def async_cpu_microseconds(work: Callable[[], Awaitable[object]], calls: int) -> float:
    """Returns the CPU time of one call of an asynchronous `work`. All rounds together have this many calls."""
    calls_per_round = max(1, calls // ROUNDS)
    rounds = []
    for _ in range(ROUNDS):
        start = time.process_time_ns()
        for _ in range(calls_per_round):
            await work()
        rounds.append((time.process_time_ns() - start) / calls_per_round / 1000)
    return min(rounds)
