"""Starts the engine that `keyfence dev --engine` names. By default, starts dynoxide, or moto if dynoxide is missing."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from keyfence.local.engines import dynoxide, moto
from keyfence.local.engines.engine import Engine, EngineMissing, OnProgress

EngineName = Literal["auto", "moto", "dynoxide"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenEngine:
    """A running engine, and a description for the user: its name, and where its data is."""

    engine: Engine
    description: str


def start_engine(name: EngineName, directory: Path, on_progress: OnProgress) -> ChosenEngine:
    """Starts an engine. For `auto`, that is dynoxide, or moto if dynoxide is missing.

    Raises EngineBusy or EngineFailed if dynoxide exists but cannot start. moto is no replacement then, because the
    data of dynoxide would be missing.
    """
    if name == "moto":
        return _start_moto(on_progress, "moto")
    try:
        engine = dynoxide.start(directory, on_progress)
    except EngineMissing as missing:
        if name == "dynoxide":
            raise
        return _start_moto(on_progress, f"moto, because {missing.message.rstrip('.')}")
    return ChosenEngine(engine=engine, description=f"dynoxide, with its data in {directory}")


def _start_moto(on_progress: OnProgress, name_and_reason: str) -> ChosenEngine:
    engine = moto.start(on_progress)
    return ChosenEngine(
        engine=engine, description=f"{name_and_reason}: its data is in memory and is lost when `keyfence dev` stops"
    )
