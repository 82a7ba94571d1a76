"""What the model assumes, with its own numbers, and what it leaves out."""

from collections.abc import Iterator
from textwrap import fill

from keyfence.hot_partitions.shard_recommendation import AUTOPILOT_MAX_SHARDS, GROW_AT, GROW_TO
from keyfence.usage.hourly_usage import DEFAULT_PRICES
from tests.benchmarks.scale.model import NEAR, PAGES_OF_A_WRITE
from tests.benchmarks.scale.outcome import STEP
from tests.benchmarks.scale.policy import SETTLE_SECONDS, WINDOW_SECONDS, WINDOWS
from tests.benchmarks.scale.population import HEATS, RANKS, World
from tests.benchmarks.scale.slots import ITEM_BYTES, ITEMS, page_units
from tests.benchmarks.scale.tenant import BURST, BURST_SECONDS, SWING

LEFT_OUT = (
    "Retries: a throttled request is counted once and does not come back. Real callers ask again.",
    "Quotas of requests and of read units, which would hold back some pages of the largest tenants.",
    "Other collections, point reads and transactions of the same tenants; storage, streams and backups.",
    "Physical partitions: keys that share one, splits for heat, quotas of tables and accounts, and on-demand tables"
    " that grow only to twice their former peak at once.",
    "The few items beyond its share that a slot may be asked for when pages are merged.",
    "Fractions of a second: within one, order and pauses do not matter.",
    "More slots make no part of a page cheaper than half a unit. Whoever reads more than 6,000 pages a second of one"
    " list is throttled with any number of slots; the rule knows that and does not grow for it.",
)


def points(texts: Iterator[str] | tuple[str, ...]) -> str:
    return "\n".join(point(text) for text in texts)


def point(text: str) -> str:
    wrapped = fill(text, 118, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
    return wrapped.replace("%", " %")


def assumed(world: World) -> Iterator[str]:
    ranks = ", ".join(f"{tier} to rank {last:,}" for tier, last in RANKS.items() if last < world.tenants)
    yield (
        f"**Traffic**: {world.writes:,.0f} items a second are written by all tenants together, each to one list of its"
        f" own, by rank to the power of -{world.exponent:g} (Zipf). By day {SWING:.0%} more and by night as much less,"
        f" each at its own hour; {world.bursting:.0%} of them have one burst of {BURST:g} times as much for"
        f" {BURST_SECONDS} s. For each item {PAGES_OF_A_WRITE:g} pages are read. Tiers: {ranks}, then FREE. A tenant"
        " writes no more than its quota of write units lets through."
    )
    heats = ", ".join(f"{heat.tenants} {heat.tier} by {heat.fewest:,.0f} to {heat.most:,.0f}" for heat in HEATS)
    yield (
        "**Heat**: some turn hot in the middle half of the run and stay so, in items a second:"
        f" {heats}; those of STANDARD have a larger quota by agreement."
    )
    yield (
        "**Partitions**: the gate's own buckets, 1,000 write and 3,000 read units a second for each slot. An item costs"
        " a unit in the table and one in the index, whose slot is the hot partition: what it turns away is not written"
        " to the table either. Up to 300 s of unused capacity are kept, as DynamoDB does at best, or 1 s, as the gate"
        " does: AWS promises none of it. A tenant begins with all or nothing of it, by whether it is below its limits;"
        " a new slot with one second's worth."
    )
    yield (
        f"**Pages** have {ITEMS} items of {ITEM_BYTES} bytes and are read from an index over all slots:"
        f" {page_units(1):g} unit with one slot, {page_units(2):g} with two, {page_units(10):g} with ten, since a Query"
        " costs half a unit at least."
    )
    bounds = ", ".join(f"{tier} {bound}" for tier, bound in AUTOPILOT_MAX_SHARDS.items())
    yield (
        "**Autopilot**: `service/keyfence/hot_partitions/shard_recommendation.py`, from one slot for everybody."
        f" A peak is the highest mean over {WINDOW_SECONDS} s in the last {WINDOW_SECONDS * WINDOWS} s of what was"
        f" asked for; above {GROW_AT:.0%} of what the slots carry they grow until it is {GROW_TO:.0%} at most."
        f" Reads widen at once, writes {SETTLE_SECONDS} s later. Bounds: {bounds}."
    )
    yield (
        f"**Prices**: {DEFAULT_PRICES.region} as of {DEFAULT_PRICES.as_of}, {DEFAULT_PRICES.read} USD for a million"
        f" read units and {DEFAULT_PRICES.write} for as many write units, 30 days of the run."
    )
    yield (
        f"**Steps**: tenants that may ask for {NEAR:.0%} of a limit, or for more than their quota, are stepped second"
        " by second with random demand and random hashes. All others are never throttled and are counted by closed"
        f" forms. The plot has {STEP} s to a point."
    )
