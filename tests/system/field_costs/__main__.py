"""Measures the cost of every GraphQL field and writes the file of the report: python -m tests.system.field_costs."""

import asyncio
import json
import tempfile
from pathlib import Path

import structlog
from cryptography.hazmat.primitives.asymmetric import ec

from keyfence.access_patterns.report import FIELD_COSTS_FILE, FieldCost
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.local.engines import dynoxide
from tests.engines import dynoxide_binary
from tests.system.field_costs.measurement import measure_field_costs, start_stack

SMALL_SIZE = 10
"""Objects of each kind in the measured tenant."""


def main() -> None:
    structlog.configure(processors=[_drop_event])
    with tempfile.TemporaryDirectory() as directory:
        engine = dynoxide.start(Path(directory), print, dynoxide_binary())
        stack = start_stack(engine.url, DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1())))
        try:
            _, costs = asyncio.run(measure_field_costs(stack, SMALL_SIZE))
        finally:
            stack.close()
            engine.stop()
    FIELD_COSTS_FILE.write_text(to_json(costs))


def to_json(costs: tuple[FieldCost, ...]) -> str:
    """Returns a JSON list with one line for each field."""
    lines = ",\n".join(f"  {json.dumps(cost.to_document())}" for cost in costs)
    return f"[\n{lines}\n]\n"


def _drop_event(*_: object) -> str:
    raise structlog.DropEvent


if __name__ == "__main__":
    main()
