"""The numbers and layers on the architecture page are the same as in the code."""

import tomllib
from inspect import signature

import pytest

from keyfence.admission import rate_limits
from keyfence.auth import tenant_issuer_cache
from keyfence.auth.jwks_refresh import RefreshPolicy
from keyfence.auth.token_verifier import MAX_CACHED_TOKENS, RECHECK_SECONDS
from keyfence.domains.sessions import revocation
from keyfence.graphql.document_cache import ENTRY_WEIGHT, DocumentCache
from keyfence.http import media_types
from keyfence.http.request_body import MAX_BODY_BYTES
from keyfence.settings import TENANT_CACHE_SECONDS, TENANT_USE_SECONDS
from keyfence.store.dual_write import dual_write_caller
from keyfence.store.dynamodb.request_signer import MAX_SIGNING_KEYS
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.store.keys import MAX_PARTITION_KEY_BYTES, MAX_SORT_KEY_BYTES
from keyfence.store.writes import STALE_WRITE_RETRIES as STALE_RETRIES
from keyfence.tenancy import tenant_cache
from keyfence.usage import ledger
from keyfence_iam.dynamodb import traffic_window
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS
from keyfence_iam.sts import session_cache, session_refresh
from tests.docs.pages import DOCS, ROOT, prose, table

PAGE = DOCS / "build" / "architecture.md"
DOCUMENT_CHARACTERS = signature(DocumentCache).parameters["capacity"].default
KEY_REFRESH, RETRIES, SESSIONS = RefreshPolicy(), RetryPolicy(), session_refresh.RefreshSchedule()


@pytest.mark.parametrize(
    "sentence",
    [
        f"{MAX_CACHED_TOKENS:,}; verified again after {RECHECK_SECONDS} s",
        f"refreshed after {KEY_REFRESH.fresh_seconds:g} s or for an unknown `kid`, at most every"
        f" {KEY_REFRESH.min_interval_seconds:g} s",
        f"unusable after {KEY_REFRESH.usable_seconds:,} s",
        f"{tenant_cache.MAX_TENANTS:,}; {TENANT_CACHE_SECONDS:g} s",
        f"{tenant_issuer_cache.MAX_CACHED_ISSUERS:,} of each; {tenant_issuer_cache.MAX_AGE_SECONDS:g} s and"
        f" {tenant_issuer_cache.NEGATIVE_CACHE_SECONDS:g} s",
        f"token buckets of tenants' quotas | {rate_limits.MAX_TENANTS:,};",
        f"the heaviest {traffic_window.MAX_KEYS_PER_STEP:,} of each {STEP_SECONDS} s",
        f"of past hours {ledger.MAX_ENTRIES:,} |",
        f"{revocation.MAX_REMEMBERED_TOKENS:,}, for `KEYFENCE_REVOCATION_SECONDS`",
        f"{DOCUMENT_CHARACTERS:,} characters, of which each document takes {ENTRY_WEIGHT} more than its length",
        f"{media_types.CACHE_SIZE} of each, their first {media_types.MAX_HEADER_LENGTH:,} characters",
        f"{RETRIES.attempts} attempts, pauses random up to {RETRIES.first_pause_seconds * 1000:g} ms doubling to"
        f" {RETRIES.max_pause_seconds:g} s",
        f"{RETRIES.attempts} rounds",
        f"{dual_write_caller.MAX_ATTEMPTS} rounds, the same pauses, then THROTTLED",
        f"cache allows, and {TENANT_USE_SECONDS:g} s more",
        f"{STALE_RETRIES.attempts} attempts, pauses random up to"
        f" {STALE_RETRIES.first_pause_seconds * 1000:g} ms doubling to"
        f" {STALE_RETRIES.max_pause_seconds:g} s",
        f"`http/request_body.py` reads the body, at most {MAX_BODY_BYTES:,} bytes",
        f"A session of {SESSIONS.session_seconds} s is renewed when"
        f" {SESSIONS.earliest_refresh_share:.0%} to {SESSIONS.latest_refresh_share:.0%} of its time is over".replace(
            "%", " %"
        ),
        f"no longer used {SESSIONS.expiry_margin_seconds:g} s before it expires",
        f"in this way at most every {SESSIONS.replacement_interval_seconds:g} s",
        f"{session_cache.MAX_SESSIONS:,}; removed {SESSIONS.expiry_margin_seconds:g} s before they expire",
        f"signing keys, by secret key and day | {MAX_SIGNING_KEYS:,};",
        f"A partition key has at most {MAX_PARTITION_KEY_BYTES:,} bytes, a sort key {MAX_SORT_KEY_BYTES:,}",
    ],
)
def test_a_number_on_the_page_is_the_number_in_the_code(sentence: str) -> None:
    assert sentence in " ".join(prose(PAGE).split())


def test_the_layers_are_those_of_the_import_contract_in_their_order() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    contract_layers = [[f"keyfence.{name}" for name in layer.split(" | ")] for layer in contracts[0]["layers"]]
    page_layers = [[name.strip("`") for name in row[0].split(", ")] for row in table(PAGE, "layer")]
    assert page_layers == [*contract_layers, ["keyfence_iam"]]
