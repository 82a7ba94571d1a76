"""Prints which requests are throttled, and their cost, with fixed numbers of shards and with the autopilot.

Run: uv run python -m tests.benchmarks.scale [--tenants 100000] [--seconds 600] [--seed 1] [--json] [--write-docs]
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.scale.model import run_all
from tests.benchmarks.scale.outcome import Outcome
from tests.benchmarks.scale.population import RunParameters, population
from tests.benchmarks.scale.report_page import page
from tests.benchmarks.scale.report_plot import plot
from tests.benchmarks.scale.report_table import as_json, as_text

REFERENCE_FOLDER = Path(__file__).parents[3] / "docs" / "reference"
BURST_SECONDS = (300.0, 1.0)
"""The burst capacity of DynamoDB in the best case, and of the gate."""


def main() -> None:
    arguments = _parser().parse_args()
    parameters = RunParameters(tenants=arguments.tenants, seconds=arguments.seconds, seed=arguments.seed)
    outcomes = run_all(parameters, population(parameters), BURST_SECONDS)
    print(json.dumps(as_json(outcomes), indent=2) if arguments.json else as_text(outcomes))
    if arguments.write_docs:
        _write_docs(parameters, outcomes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenants", type=_ten_or_more, default=RunParameters().tenants)
    parser.add_argument("--seconds", type=_ten_or_more, default=RunParameters().seconds)
    parser.add_argument("--seed", type=int, default=RunParameters().seed)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write-docs", action="store_true")
    return parser


def _ten_or_more(text: str) -> int:
    if (number := int(text)) < 10:
        raise argparse.ArgumentTypeError("must be 10 or more")
    return number


def _write_docs(parameters: RunParameters, outcomes: Sequence[Outcome]) -> None:
    (REFERENCE_FOLDER / "scale.md").write_text(page(parameters, outcomes))
    (REFERENCE_FOLDER / "scale.svg").write_text(plot(outcomes))


if __name__ == "__main__":
    main()
