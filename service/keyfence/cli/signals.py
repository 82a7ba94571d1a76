"""How a command that runs until it is told to end takes the telling."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_HANDLERS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.default_int_handler,
    signal.SIGHUP: lambda *_: signal.raise_signal(signal.SIGTERM),
}
ENDINGS = tuple(_HANDLERS)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C and a polite kill are KeyboardInterrupt; a closed terminal is a kill, unless it was to be ignored (nohup).

    So whoever takes the first two for a while, as uvicorn does, takes all three.
    """
    wanted = [number for number in ENDINGS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _HANDLERS[number]) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Impatience is not heard while something short has to be finished."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDINGS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
