"""Waiting, in any event loop, for work that others wait for too."""

import asyncio
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import TypeVar

from keyfence_iam.vending.refusal import NoSession

T = TypeVar("T")


async def landed(flight: "Future[T]", seconds: float) -> T:
    """The result of the flight; a waiter who is cancelled or loses patience leaves it to the others."""
    loop = asyncio.get_running_loop()
    arrival: asyncio.Future[None] = loop.create_future()

    def wake(_: object) -> None:
        with suppress(RuntimeError):  # a loop that was closed meanwhile has nobody who waits
            loop.call_soon_threadsafe(_arrive, arrival)

    flight.add_done_callback(wake)
    try:
        await asyncio.wait_for(arrival, seconds)
        return flight.result()
    except TimeoutError:
        raise NoSession(f"STS has not answered within {seconds:g} s") from None
    except CancelledError:
        raise NoSession("vending has ended") from None


def _arrive(arrival: "asyncio.Future[None]") -> None:
    if not arrival.done():
        arrival.set_result(None)
