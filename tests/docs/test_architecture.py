"""The numbers of the architecture page are those of the code."""

import tomllib

import pytest

from keyfence.auth import owned_issuers
from keyfence.auth.keyset import Pace
from keyfence.auth.tokens import CACHED_TOKENS, RECHECK_SECONDS
from keyfence.domains.sessions import standing
from keyfence.graphql.document_cache import ENTRY_WEIGHT
from keyfence.http import media_types
from keyfence.http.body import BODY_LIMIT
from keyfence.settings import GRACE_SECONDS
from keyfence.store import mirror
from keyfence.store.calls import Patience
from keyfence.store.keys import PARTITION_BYTES, SORT_BYTES
from keyfence.store.retry import ATTEMPTS, FIRST_PAUSE, LONGEST_PAUSE
from keyfence.tenancy import registry
from keyfence.traffic import window
from keyfence.traffic.units import STEP
from keyfence.usage import allowances, ledger
from keyfence_iam.vending import pace, vending
from tests.docs.pages import DOCS, ROOT, prose, table

PAGE = DOCS / "architecture.md"
PACE, PATIENCE, SESSIONS = Pace(), Patience(), pace.Pace()


@pytest.mark.parametrize(
    "sentence",
    [
        f"{CACHED_TOKENS:,}; checked anew after {RECHECK_SECONDS} s",
        f"refreshed after {PACE.fresh:g} s or for an unknown `kid`, at most every {PACE.between_fetches:g} s",
        f"unusable after {PACE.usable:,} s",
        f"{registry.LARGEST:,}; {registry.MAX_AGE:g} s",
        f"{owned_issuers.LARGEST:,} of each; {owned_issuers.MAX_AGE:g} s and {owned_issuers.ABSENT_FOR:g} s",
        f"what is left of tenants' quotas | {allowances.LARGEST:,};",
        f"the heaviest {window.SIZE:,} of each {STEP} s",
        f"of hours that are over {ledger.LARGEST:,} |",
        f"`KEYFENCE_REVOCATION_SECONDS` says so; then {standing.REMEMBERED:,}",
        f"each text weighing {ENTRY_WEIGHT} more",
        f"{media_types.MEMORY} of each, their first {media_types.LONGEST:,} characters",
        f"{PATIENCE.attempts} attempts, pauses random up to {PATIENCE.first_pause * 1000:g} ms doubling to"
        f" {PATIENCE.longest_pause:g} s",
        f"{PATIENCE.attempts} rounds",
        f"{mirror.ROUNDS} rounds, the same pauses, then THROTTLED",
        f"as the registry may remember the tenant and {GRACE_SECONDS:g} s more",
        f"{ATTEMPTS} attempts, pauses random up to {FIRST_PAUSE * 1000:g} ms doubling to {LONGEST_PAUSE:g} s",
        f"`body.py` reads at most {BODY_LIMIT:,} bytes",
        f"A session of {SESSIONS.session} s is renewed in the background when between"
        f" {SESSIONS.earliest_renewal:.0%} and {SESSIONS.latest_renewal:.0%} of it are over".replace("%", " %"),
        f"from {SESSIONS.margin:g} s before its session ends",
        f"{vending.SESSIONS:,}; gone {SESSIONS.margin:g} s before they end",
        f"A partition key may have {PARTITION_BYTES:,} bytes and a sort key {SORT_BYTES:,}",
    ],
)
def test_a_number_is_the_codes_own(sentence: str) -> None:
    assert sentence in " ".join(prose(PAGE).split())


def test_the_layers_are_those_that_import_linter_holds() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    held = {name for layer in contracts[0]["layers"] for name in layer.split(" | ")}
    told = {name.strip("`") for row in table(PAGE, "layer") for name in row[0].split(", ")}
    assert told == {f"keyfence.{name}" for name in held} | {"keyfence_iam"}
