"""The line that tells what is being done: it moves on a terminal, and is printed line by line elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("") as status:
            yield lambda text: status.update(f"{escape(text)} ...")
    else:
        yield lambda text: print(f"{text} ...", file=sys.stderr, flush=True)
