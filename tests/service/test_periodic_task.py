"""A periodic task survives exceptions, never overlaps with itself, and finishes a run before it stops."""

import asyncio

from structlog.testing import capture_logs

from keyfence.periodic_task import PeriodicTask

MAX_LOOP_STEPS = 100
"""Steps of the event loop in which a task without an interval runs several times."""


async def run_event_loop() -> None:
    for _ in range(MAX_LOOP_STEPS):
        await asyncio.sleep(0)


async def test_the_work_runs_again_after_an_exception() -> None:
    runs = 0

    async def fail_at_first() -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise RuntimeError("the first run fails")

    task = PeriodicTask("example", fail_at_first, interval_seconds=0)
    with capture_logs() as logs:
        task.start()
        await run_event_loop()
    assert runs > 1
    assert task.is_running
    assert [(line["event"], line["task"]) for line in logs] == [("background_task_failed", "example")]
    await task.stop()


async def test_a_run_on_demand_waits_for_the_run_in_progress() -> None:
    release = asyncio.Event()
    running = most_running = finished = 0

    async def work() -> None:
        nonlocal running, most_running, finished
        running += 1
        most_running = max(most_running, running)
        await release.wait()
        running -= 1
        finished += 1

    task = PeriodicTask("example", work, interval_seconds=3600)
    both_runs = [asyncio.ensure_future(task.run_now()), asyncio.ensure_future(task.run_now())]
    await run_event_loop()
    assert (running, finished) == (1, 0)
    release.set()
    await asyncio.gather(*both_runs)
    assert (most_running, finished) == (1, 2)


async def test_a_stop_waits_for_the_run_in_progress() -> None:
    release, finished = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await release.wait()
        finished.set()

    task = PeriodicTask("example", work, interval_seconds=0)
    task.start()
    await run_event_loop()
    stop = asyncio.ensure_future(task.stop())
    await run_event_loop()
    assert not stop.done()
    release.set()
    await stop
    assert finished.is_set()
    await run_event_loop()
    assert not task.is_running
