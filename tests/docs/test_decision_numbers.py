"""The numbers on the pages about decisions are the same as in the code."""

from datetime import timedelta

import pytest

from keyfence.admission import priority, rate_limits
from keyfence.auth import claims, egress, issuer, jwk_parser, jwks_refresh, jwks_url
from keyfence.auth.http_get import DEFAULT_LIMITS
from keyfence.auth.token_verifier import MAX_CACHED_TOKENS
from keyfence.bulk.importer import GROUP_SIZE
from keyfence.cli.import_export import DEFAULT_ITEMS_PER_SECOND
from keyfence.domains.activity.activity_log import ACTIVITY_RETENTION
from keyfence.domains.categories.category_mover import MOVE_BATCH as CATEGORIES_PER_TRANSACTION
from keyfence.domains.groups.memberships import REMOVE_BATCH
from keyfence.domains.products.category_products import MOVE_BATCH as PRODUCTS_PER_TRANSACTION
from keyfence.domains.stores import geohash
from keyfence.domains.stores.repository import MAX_CANDIDATES
from keyfence.hot_partitions.hot_partition_finder import MAX_PARTITIONS
from keyfence.hot_partitions.shard_recommendation import AUTOPILOT_MAX_SHARDS, GROW_AT, GROW_TO
from keyfence.jobs import job_lease, job_record, job_repository, scan_pass
from keyfence.jobs.offboard import offboard_job
from keyfence.local.engines.moto_patches import REMEMBERED_SECONDS
from keyfence.store.cursor import LIFETIME_HOURS
from keyfence.store.dual_write.read_comparison import MAX_COMPARISONS
from keyfence.store.dynamodb.connection_pool import MAX_CONNECTION_SECONDS
from keyfence.store.dynamodb.http_connection import MAX_ANSWER_BYTES
from keyfence.store.embedded_edges import MAX_EMBEDDED_EDGES
from keyfence.store.sharded_query import MAX_CONCURRENT_SHARDS
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES
from keyfence.tenancy import issuer_registration
from keyfence.tenancy.suspensions import MAX_SESSION_AGE
from keyfence.usage import hourly_usage, ledger
from keyfence_iam.dynamodb import traffic_window
from keyfence_iam.gate.throughput.partition_rates import MAX_BUCKETS
from keyfence_iam.policy.role import MAX_INLINE_SIZE
from keyfence_iam.sts.session_refresh import RefreshSchedule
from keyfence_iam.sts.sts_client import session_policies
from keyfence_iam.suspension.deny_policies import MAX_SUSPENSION_SIZE, InvalidSuspension, deny_tenants_policy
from keyfence_iam.tenant import TenantId
from tests.docs.pages import DECISIONS, prose

TEXT = {page.name[:4]: " ".join(prose(page).split()) for page in DECISIONS}
SESSIONS = RefreshSchedule()


def suspendable_tenants(id_length: int) -> int:
    """Returns how many tenants with ids of this length a suspension policy can name."""
    tenants: list[TenantId] = []
    while True:
        tenants.append(TenantId(str(len(tenants)).zfill(id_length)))
        try:
            deny_tenants_policy(tenants)
        except InvalidSuspension:
            return len(tenants) - 1


@pytest.mark.parametrize(
    ("decision", "sentence"),
    [
        ("0002", f"the {MAX_EMBEDDED_EDGES} memberships with the lowest ids"),
        ("0003", f"expire after {ACTIVITY_RETENTION.days} days"),
        ("0005", f"expires after {LIFETIME_HOURS} hours"),
        ("0006", f"Delete the memberships, {REMOVE_BATCH} per transaction"),
        ("0009", f"with {claims.CLOCK_SKEW_SECONDS} seconds of clock skew"),
        ("0009", f"lives {timedelta(seconds=claims.MAX_TOKEN_LIFETIME_SECONDS).days} days at most"),
        ("0009", f"At most {MAX_CACHED_TOKENS:,} verified tokens"),
        ("0013", f"between {SESSIONS.earliest_refresh_share * 100:g} % and {SESSIONS.latest_refresh_share * 100:g} %"),
        ("0014", f"geohash of {geohash.GEOHASH_LENGTH} letters ({2 * geohash.COORDINATE_BITS} bits)"),
        ("0014", f"with at most {geohash.MAX_CELLS} cells"),
        ("0014", f"reads at most {MAX_CANDIDATES:,} stores"),
        ("0017", f"Then {GROUP_SIZE} lines at a time"),
        ("0017", f"The default is {DEFAULT_ITEMS_PER_SECOND:,.0f}"),
        ("0019", f"The products are moved, {PRODUCTS_PER_TRANSACTION} per transaction"),
        ("0019", f"Transactions of up to {CATEGORIES_PER_TRANSACTION} categories"),
        ("0022", f"IAM allows {MAX_INLINE_SIZE:,} characters"),
        ("0022", f"may use {MAX_SUSPENSION_SIZE:,}: {suspendable_tenants(32)} tenants with ids of 32 characters"),
        ("0022", f"characters, {suspendable_tenants(12)} with 12"),
        ("0022", f"leaves the list {MAX_SESSION_AGE.total_seconds():,.0f} s after"),
        ("0023", f"at most {issuer.MAX_ISSUER_LENGTH} characters"),
        (
            "0023",
            f"at most {issuer_registration.MAX_KEYS} keys and {issuer_registration.MAX_JWKS_BYTES // 1024} KB",
        ),
        ("0023", f"{jwk_parser.MIN_RSA_BITS:,} to {jwk_parser.MAX_RSA_BITS:,} bits"),
        ("0024", f"at most {egress.MAX_URI_LENGTH:,} ASCII characters"),
        (
            "0024",
            f"{DEFAULT_LIMITS.total_seconds:g} seconds in total, {DEFAULT_LIMITS.idle_seconds:g} seconds of silence,"
            f" {DEFAULT_LIMITS.max_body_bytes // 1024} KB, {jwks_url.MAX_KEYS} keys",
        ),
        ("0024", f"{jwks_refresh.FETCH_THREADS} threads fetch for all tenants"),
        ("0043", f"{DEFAULT_LIMITS.total_seconds:g} seconds for all requests together"),
        ("0025", f"at {rate_limits.TYPICAL_REQUEST_SECONDS:g} s each"),
        ("0025", f"Up to {rate_limits.MAX_WAITING} wait"),
        ("0025", f"up to {priority.MAX_YIELD_SECONDS * 1000:g} ms in all"),
        ("0026", f"expire after {hourly_usage.RETENTION.days} days"),
        ("0026", f"At most {ledger.MAX_ENTRIES:,} entries of past hours"),
        ("0028", f"{MAX_BUCKETS:,} buckets are kept"),
        ("0029", f"in parallel, {MAX_CONCURRENT_SHARDS} at a time"),
        ("0032", f"lasts {job_repository.LEASE_DURATION.total_seconds():g} seconds"),
        ("0032", f"at most {job_record.MAX_SEGMENTS + 1} items"),
        ("0034", f"at most {GROW_AT * 100:g} % of the capacity"),
        ("0034", f"the load is {GROW_TO * 100:g} % afterwards"),
        ("0034", "FREE {}, STANDARD {}, PREMIUM {}, ENTERPRISE {}".format(*AUTOPILOT_MAX_SHARDS.values())),
        ("0035", f"a Space-Saving sketch of {traffic_window.MAX_KEYS_PER_STEP:,} partitions"),
        ("0035", f"its {MAX_PARTITIONS} hottest partitions"),
        ("0037", f"use {MAX_SPLIT_TRANSACTION_WRITES} writes for all tenants"),
        ("0044", f"keeps connections for {MAX_CONNECTION_SECONDS:g} s"),
        ("0044", f"larger than {MAX_ANSWER_BYTES // 2**20} MB is `Unreadable`"),
    ],
)
def test_a_number_on_the_page_is_the_number_in_the_code(decision: str, sentence: str) -> None:
    assert sentence in TEXT[decision]


def test_numbers_that_pages_write_as_words_are_the_numbers_in_the_code() -> None:
    assert (offboard_job.MAX_ROUNDS, scan_pass.MAX_IDLE_ROUNDS) == (10, 5)
    assert (job_lease.RENEWALS_PER_LEASE, MAX_COMPARISONS) == (3, 4)
    assert (REMEMBERED_SECONDS, rate_limits.BURST_SECONDS) == (600, 2)
    assert (traffic_window.STEP_SECONDS, traffic_window.STEPS_PER_WINDOW) == (10, 6)


def test_a_session_policy_is_as_short_as_the_page_says() -> None:
    policies = session_policies("arn:aws-us-gov:iam::123456789012:role/keyfence-", "t" * 217)
    assert max(len(text) for text in policies.values() if text) < 800
    assert "fewer than 800 of the 2,048 characters" in TEXT["0033"]
