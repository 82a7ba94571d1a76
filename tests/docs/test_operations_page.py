"""The operations page names what the code names: commands, metrics, log lines, events, tiers, phases, settings."""

import re
import shlex
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from graphql import parse, validate
from typer.main import get_group

from keyfence.admin.schema import schema
from keyfence.admission.tenant_limits import BURST_SECONDS
from keyfence.cli import app
from keyfence.domains.counters import counter
from keyfence.hot_partitions.autopilot import Mode
from keyfence.hot_partitions.recommendation import AUTOPILOT_MAX_SHARDS, GROW_AT
from keyfence.http.metrics import Metrics
from keyfence.jobs import job_store, scan_pass
from keyfence.jobs.offboard.state import OffboardingPhase
from keyfence.log import EVENTS
from keyfence.settings import Settings
from keyfence.store.shards import MAX_SHARDS
from keyfence.tenancy.quotas import TIER_QUOTAS
from keyfence.tenancy.tenant import MovePhase
from keyfence.usage.hourly_usage import DEFAULT_PRICES, RETENTION
from tests.docs.pages import DOCS, ROOT, blocks, prose, table

PAGE = DOCS / "operations.md"
TEXT = " ".join(PAGE.read_text().split())
LOGGED = re.compile(r'log\.(?:debug|info|warning|error|exception|critical)\(\s*"([^"]+)"')
PROBLEMS = re.compile(r'log\.(?:warning|error|exception|critical)\(\s*"([^"]+)"')
SETTINGS = Settings.model_construct()
COMMANDS = re.findall(r"uv run keyfence ([^\n]*)", PAGE.read_text())


def code_of(*places: str) -> Iterator[str]:
    return (path.read_text() for place in places for path in (ROOT / place).rglob("*.py"))


def names(heading: str) -> list[str]:
    return [row[0].strip("`") for row in table(PAGE, heading)]


def test_every_metric_is_there_and_no_other() -> None:
    served = re.findall(r"^# TYPE (\w+)", Metrics().render(), re.MULTILINE)
    assert sorted(names("metric")) == sorted(served)


def test_every_line_that_is_logged_as_a_problem_is_there_and_no_other() -> None:
    logged = {name for code in code_of("service", "iam") for name in PROBLEMS.findall(code)}
    assert sorted(names("event")) == sorted(logged)


def test_the_table_of_log_events_has_every_event_that_is_logged_and_no_other() -> None:
    logged = {name for code in code_of("service", "iam") for name in LOGGED.findall(code)}
    assert set(EVENTS) == logged


def test_every_kind_of_event_is_there_and_no_other() -> None:
    kinds = {kind for code in code_of("service") for kind in re.findall(r'"((?:tenant|shards)\.[a-z_]+)"', code)}
    assert sorted(names("kind")) == sorted(kinds)


def test_the_tiers_have_their_allowances() -> None:
    told = [(row[0].strip("`"), *(int(cell.replace(",", "")) for cell in row[1:])) for row in table(PAGE, "tier")]
    assert told == [
        (
            tier.value,
            one.requests_per_second,
            one.read_units_per_second,
            one.write_units_per_second,
            one.users,
            one.storage_mb,
        )
        for tier, one in TIER_QUOTAS.items()
    ]


def test_the_phases_of_an_offboarding_are_told_in_their_order() -> None:
    assert names("phase") == list(OffboardingPhase)


def test_the_phases_of_a_move_are_told_in_their_order() -> None:
    assert names("step") == list(MovePhase)


def test_every_setting_that_is_named_exists() -> None:
    settings = {f"KEYFENCE_{name.upper()}" for name in Settings.model_fields}
    assert set(re.findall(r"KEYFENCE_[A-Z_]+", PAGE.read_text())) - settings - {"KEYFENCE_"} == set()


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_has_the_options_that_it_is_shown_with(line: str) -> None:
    command: Any = get_group(app)
    arguments = shlex.split(line)
    while arguments and arguments[0] in getattr(command, "commands", {}):
        command = command.commands[arguments.pop(0)]
    command.make_context(line, arguments)


def test_every_command_about_tenants_is_named() -> None:
    tenant: Any = get_group(app).commands["tenant"]
    words = set(re.findall(r"`(\w+)`", prose(PAGE))) | {word for line in COMMANDS for word in line.split()[1:2]}
    assert set(tenant.commands) - words == set()


@pytest.mark.parametrize("document", blocks(PAGE, "graphql"), ids=lambda text: text.split()[2].partition("(")[0])
def test_a_document_fits_the_operators_schema(document: str) -> None:
    assert validate(schema._schema, parse(document)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        f"by default {DEFAULT_PRICES.read} for reads and {DEFAULT_PRICES.write} for writes, as listed for"
        f" {DEFAULT_PRICES.region} on {DEFAULT_PRICES.as_of}",
        f"of the last {RETENTION.days} days",
        f"Usage, for {RETENTION.days} days after each hour",
        f"loses its place after {job_store.LEASE.total_seconds():g} seconds",
        f"more than {GROW_AT * 100:g} % of what its slots carry",
        "up to {} slot in FREE, {} in STANDARD, {} in PREMIUM and {} in ENTERPRISE".format(
            *AUTOPILOT_MAX_SHARDS.values()
        ),
        f"Slots are 1 to {MAX_SHARDS}, of `counters` 1 to {counter.MAX_SHARDS}.",
        f"The settle time is {SETTINGS.settle_seconds:g} s with the defaults",
        f"within `KEYFENCE_TENANT_CACHE_SECONDS`, which is {Settings.model_fields['tenant_cache_seconds'].default:g}",
    ],
)
def test_a_number_is_the_codes_own(sentence: str) -> None:
    assert sentence in TEXT


def test_every_mode_of_the_autopilot_is_told() -> None:
    assert tuple(names("`KEYFENCE_AUTOPILOT`")) == get_args(Mode)


def test_a_worker_that_is_silent_for_a_minute_is_followed_and_five_rounds_are_enough() -> None:
    assert (job_store.LEASE.total_seconds(), scan_pass.MAX_IDLE_ROUNDS) == (60, 5)
    assert "Another is refused until the first has been silent for a minute" in TEXT
    assert "After five rounds the command ends" in TEXT


def test_a_burst_is_two_seconds_worth() -> None:
    assert BURST_SECONDS == 2
    assert "at most two seconds' worth of it at once" in TEXT
