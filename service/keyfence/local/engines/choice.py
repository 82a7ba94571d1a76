"""Which engine runs, and the line that says why."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from keyfence.local.engines import dynoxide, moto
from keyfence.local.engines.engine import Engine, EngineMissing, Progress

EngineName = Literal["auto", "moto", "dynoxide"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A running engine and a description, in one line, on what becomes of its data."""

    engine: Engine
    description: str


def start_engine(name: EngineName, directory: Path, progress: Progress) -> Choice:
    """`auto` takes dynoxide or, where that cannot be had, moto; one that is there but busy or broken is an error."""
    if name == "moto":
        return _in_memory(progress, "moto")
    try:
        engine = dynoxide.start(directory, progress)
    except EngineMissing as missing:
        if name == "dynoxide":
            raise
        return _in_memory(progress, f"moto, since {missing.message.rstrip('.')}")
    return Choice(engine=engine, description=f"dynoxide, with its data in {directory}")


def _in_memory(progress: Progress, reason: str) -> Choice:
    return Choice(
        engine=moto.start(progress), description=f"{reason}: its data is in memory and ends with this process"
    )
