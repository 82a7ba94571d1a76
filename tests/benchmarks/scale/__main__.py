"""Prints what is throttled and what it costs with fixed slots and with the autopilot.

Run: uv run python -m tests.benchmarks.scale [--tenants 100000] [--seconds 600] [--seed 1] [--json] [--write-docs]
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.scale.model import runs
from tests.benchmarks.scale.outcome import Outcome
from tests.benchmarks.scale.page import page
from tests.benchmarks.scale.plot import plot
from tests.benchmarks.scale.population import World, population
from tests.benchmarks.scale.table import as_json, as_text

DOCS = Path(__file__).parents[3] / "docs"
BURSTS = (300.0, 1.0)


def main() -> None:
    given = _arguments().parse_args()
    world = World(tenants=given.tenants, seconds=given.seconds, seed=given.seed)
    outcomes = runs(world, population(world), BURSTS)
    print(json.dumps(as_json(outcomes), indent=2) if given.json else as_text(outcomes))
    if given.write_docs:
        _write(world, outcomes)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenants", type=_several, default=World().tenants)
    parser.add_argument("--seconds", type=_several, default=World().seconds)
    parser.add_argument("--seed", type=int, default=World().seed)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write-docs", action="store_true")
    return parser


def _several(text: str) -> int:
    if (number := int(text)) < 10:
        raise argparse.ArgumentTypeError("must be 10 or more")
    return number


def _write(world: World, outcomes: Sequence[Outcome]) -> None:
    (DOCS / "reference" / "scale.md").write_text(page(world, outcomes))
    (DOCS / "reference" / "scale.svg").write_text(plot(outcomes))


if __name__ == "__main__":
    main()
