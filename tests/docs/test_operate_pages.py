"""The pages for operators have the same events, tiers, phases, settings and numbers as the code."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import get_args

import pytest

from keyfence.admission.priority import MAX_YIELD_SECONDS
from keyfence.admission.rate_limits import BURST_SECONDS, NEW_DOCUMENTS_BURST, NEW_DOCUMENTS_PER_SECOND
from keyfence.domains.counters import sharded_counter
from keyfence.hot_partitions import fleet_traffic
from keyfence.hot_partitions.hot_partition_finder import MIN_REPORTED_SHARE
from keyfence.hot_partitions.shard_autopilot import SUSTAINED_FOR, Mode
from keyfence.hot_partitions.shard_recommendation import AUTOPILOT_MAX_SHARDS, GROW_AT
from keyfence.http.metrics import METRICS
from keyfence.jobs import job_repository, scan_pass
from keyfence.jobs.offboard import offboard_job
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase
from keyfence.log import EVENTS
from keyfence.settings import Settings
from keyfence.store.shards import MAX_SHARDS
from keyfence.tenancy.placement import MovePhase
from keyfence.tenancy.suspensions import MAX_SESSION_AGE
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tier_quotas import TIER_QUOTAS
from keyfence.usage.hourly_usage import DEFAULT_PRICES, RETENTION
from tests.docs.pages import DOCS, PAGES, ROOT, prose, table

TENANTS, SCALING, RECOVERY, ALERTS = (
    DOCS / "operate" / f"{name}.md" for name in ("tenants", "scaling", "recovery", "alerts")
)
TEXT = {page: " ".join(page.read_text().split()) for page in (TENANTS, SCALING, RECOVERY, ALERTS)}
SETTINGS = Settings.model_construct()
LOGGED = re.compile(r'log\.(?:debug|info|warning|error|exception|critical)\(\s*"([^"]+)"')


def source(*folders: str) -> Iterator[str]:
    return (path.read_text() for folder in folders for path in (ROOT / folder).rglob("*.py"))


def test_the_table_of_log_events_has_every_event_that_is_logged_and_no_other() -> None:
    logged = {name for code in source("service", "iam") for name in LOGGED.findall(code)}
    assert set(EVENTS) == logged


def test_the_service_uses_every_kind_of_tenant_event_and_writes_none_as_a_text() -> None:
    code = [path.read_text() for path in (ROOT / "service").rglob("*.py") if path.name != "tenant_events.py"]
    used = {name for text in code for name in re.findall(r"TenantEventKind\.([A-Z_]+)", text)}
    assert used == set(TenantEventKind.__members__)
    assert [kind for kind in TenantEventKind if any(f'"{kind}"' in text for text in code)] == []


def test_alarms_name_log_events_that_exist() -> None:
    named = {name for name in re.findall(r"`([a-z]+_[a-z_]+)`", prose(ALERTS)) if not name.startswith("keyfence")}
    assert named
    assert named - set(EVENTS) == set()


def test_alarms_name_metrics_that_exist() -> None:
    named = set(re.findall(r"`(keyfence_[a-z_]+)`", prose(ALERTS)))
    assert named
    assert named - {metric.name for metric in METRICS} == set()


def test_the_page_has_the_quotas_of_each_tier() -> None:
    quotas_on_page = [
        (row[0].strip("`"), *(int(cell.replace(",", "")) for cell in row[1:])) for row in table(TENANTS, "tier")
    ]
    assert quotas_on_page == [
        (
            tier.value,
            quotas.requests_per_second,
            quotas.read_units_per_second,
            quotas.write_units_per_second,
            quotas.cpu_ms_per_second,
            quotas.users,
            quotas.storage_mb,
        )
        for tier, quotas in TIER_QUOTAS.items()
    ]


def test_the_phases_of_an_offboarding_are_listed_in_their_order() -> None:
    assert [row[0].strip("`") for row in table(TENANTS, "phase")] == list(OffboardingPhase)


def test_the_steps_of_a_move_are_listed_in_their_order() -> None:
    assert [row[0].strip("`") for row in table(SCALING, "step")] == list(MovePhase)


def test_every_mode_of_the_autopilot_is_listed() -> None:
    assert tuple(row[0].strip("`") for row in table(SCALING, "`KEYFENCE_AUTOPILOT`")) == get_args(Mode)


def test_every_setting_that_a_page_names_exists() -> None:
    settings = {f"KEYFENCE_{name.upper()}" for name in Settings.model_fields}
    settings |= {"KEYFENCE_DATA", "KEYFENCE_TEST_TABLE", "KEYFENCE_TEST_ROLES"}
    settings |= {"KEYFENCE_FUZZ_EXAMPLES", "KEYFENCE_FUZZ_SEED"}
    named = {(page.name, name) for page in PAGES for name in re.findall(r"KEYFENCE_[A-Z_]+[A-Z]", page.read_text())}
    assert [(page, name) for page, name in sorted(named) if name not in settings] == []


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (TENANTS, f"by default {DEFAULT_PRICES.read} USD for a million read units and {DEFAULT_PRICES.write} for"),
        (TENANTS, f"as listed for {DEFAULT_PRICES.region} on {DEFAULT_PRICES.as_of}"),
        (TENANTS, f"kept for {RETENTION.days} days"),
        (TENANTS, "at most two seconds' worth at once"),
        (TENANTS, f"suspended more than {MAX_SESSION_AGE // timedelta(minutes=1)} minutes ago"),
        (TENANTS, f"may send {NEW_DOCUMENTS_PER_SECOND:g} documents a second"),
        (TENANTS, f"with a burst of {NEW_DOCUMENTS_BURST:g}"),
        (TENANTS, f"waits up to {MAX_YIELD_SECONDS * 1000:g} ms"),
        (TENANTS, "if ten rounds in a row find new items"),
        (SCALING, f"needs more than {GROW_AT * 100:g} % of what its shards can serve"),
        (SCALING, f"stays that high for {SUSTAINED_FOR.total_seconds():g} seconds"),
        (
            SCALING,
            "1 shard in FREE, {1} in STANDARD, {2} in PREMIUM and {3} in ENTERPRISE".format(
                *AUTOPILOT_MAX_SHARDS.values()
            ),
        ),
        (SCALING, f"1 to {MAX_SHARDS} shards, `counters` 1 to {sharded_counter.MAX_SHARDS}"),
        (SCALING, "after five rounds without progress"),
        (RECOVERY, f"{SETTINGS.settle_seconds:g} s by default"),
        (RECOVERY, f"lease for {job_repository.LEASE_DURATION.total_seconds():g} seconds"),
        (RECOVERY, "after five rounds without progress"),
    ],
)
def test_a_number_on_the_page_is_the_number_in_the_code(page: Path, sentence: str) -> None:
    assert sentence in TEXT[page]


def test_numbers_that_pages_write_as_words_are_the_numbers_in_the_code() -> None:
    assert (2, 5, timedelta(seconds=60)) == (BURST_SECONDS, scan_pass.MAX_IDLE_ROUNDS, job_repository.LEASE_DURATION)
    assert offboard_job.MAX_ROUNDS == 10
    assert (0.1, timedelta(minutes=10)) == (MIN_REPORTED_SHARE, fleet_traffic.TTL)
    assert dict(zip(TIER_QUOTAS, AUTOPILOT_MAX_SHARDS.values(), strict=True)) == AUTOPILOT_MAX_SHARDS
