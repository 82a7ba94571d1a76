"""Measures the cost of every field and writes it for the catalogue: python -m tests.system.field_costs."""

import asyncio
import json
import tempfile
from pathlib import Path

import structlog
from cryptography.hazmat.primitives.asymmetric import ec

from keyfence.access_patterns.report import FILE, Measured
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.local.engines import dynoxide
from tests.engines import dynoxide_binary
from tests.system.field_costs.measurement import measurements, start_stack

SIZE = 10


def main() -> None:
    structlog.configure(processors=[_silent])
    with tempfile.TemporaryDirectory() as directory:
        engine = dynoxide.start(Path(directory), print, dynoxide_binary())
        stack = start_stack(engine.url, DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1())))
        try:
            _, found = asyncio.run(measurements(stack, SIZE))
        finally:
            stack.close()
            engine.stop()
    FILE.write_text(written(found))


def written(found: tuple[Measured, ...]) -> str:
    """Returns a line for each field."""
    lines = ",\n".join(f"  {json.dumps(one.document())}" for one in found)
    return f"[\n{lines}\n]\n"


def _silent(*_: object) -> str:
    raise structlog.DropEvent


if __name__ == "__main__":
    main()
