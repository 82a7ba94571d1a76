"""The assumptions of the model, with the numbers from the code, and its limitations."""

from collections.abc import Iterable, Iterator
from textwrap import fill

from keyfence.hot_partitions.shard_recommendation import AUTOPILOT_MAX_SHARDS, GROW_AT, GROW_TO
from keyfence.usage.hourly_usage import DEFAULT_PRICES
from tests.benchmarks.scale.model import PAGES_PER_WRITE, SIMULATED_ABOVE
from tests.benchmarks.scale.outcome import STEP_SECONDS
from tests.benchmarks.scale.population import HOT_TENANTS, LAST_RANKS, RunParameters
from tests.benchmarks.scale.shard_buckets import INDEX_ENTRY_BYTES, ITEMS_PER_PAGE, page_units
from tests.benchmarks.scale.shard_policies import SETTLE_SECONDS, WINDOW_SECONDS, WINDOWS
from tests.benchmarks.scale.tenant import BURST_FACTOR, BURST_SECONDS, DAILY_SWING

LIMITATIONS = (
    "Retries are not modelled: a throttled request is counted once. Real callers try again.",
    "Quotas of requests and of read units are not modelled. They would reject some pages of the largest tenants.",
    "Other lists, reads of single items, transactions, storage, streams and backups are not modelled.",
    "Physical partitions of DynamoDB are not modelled: several keys in one partition, splits of hot partitions, quotas"
    " of tables and accounts, and on-demand tables that can only double their former peak at once.",
    "A merged page can read a few more items from a shard than its share. The model does not count them.",
    "Within a second, the order of requests and pauses between them do not matter.",
    "More shards make no Query of a page cheaper than half a unit. A tenant that reads more than 6,000 pages a second"
    " of one list is throttled with any number of shards. The autopilot does not grow in this case.",
)


def bullet_list(texts: Iterable[str]) -> str:
    return "\n".join(_bullet(text) for text in texts)


def _bullet(text: str) -> str:
    wrapped = fill(text, 118, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
    return wrapped.replace("%", " %")


def assumptions(parameters: RunParameters) -> Iterator[str]:
    ranks = ", ".join(f"{tier} to rank {last:,}" for tier, last in LAST_RANKS.items() if last < parameters.tenants)
    yield (
        f"**Traffic**: All tenants together write {parameters.writes:,.0f} items a second. Each tenant writes to one"
        f" list. Its traffic is proportional to its rank to the power of -{parameters.zipf_exponent:g} (Zipf)."
        f" It is {DAILY_SWING:.0%} higher by day and {DAILY_SWING:.0%} lower by night, and each tenant has its own time"
        f" of day. {parameters.bursting_share:.0%} of the tenants have one burst of {BURST_FACTOR:g} times their"
        f" traffic for {BURST_SECONDS} s. For each item {PAGES_PER_WRITE:g} pages are read. Tiers: {ranks}, then FREE."
        " A tenant writes no more than its quota of write units allows."
    )
    groups = ", ".join(
        f"{group.tenants} {group.tier} with {group.min_writes:,.0f} to {group.max_writes:,.0f}" for group in HOT_TENANTS
    )
    yield (
        "**Hot tenants**: Some tenants become hot in the middle half of the run and stay hot. Their additional items a"
        f" second: {groups}. Those of STANDARD have a larger quota by agreement."
    )
    yield (
        "**Partitions**: Each shard has the buckets of the gate: 1,000 write units and 3,000 read units a second. An"
        " item costs one unit in the table and one in the index. The shard of the index is the hot partition. A write"
        " that it throttles is not written to the table either. The burst capacity is the unused capacity of the last"
        " 300 s, which is the best case of DynamoDB, or of the last 1 s, as in the gate. AWS guarantees no burst"
        " capacity. A tenant below its limits begins with full burst capacity, any other tenant with none. A new shard"
        " begins with the capacity of one second."
    )
    yield (
        f"**Pages**: A page has {ITEMS_PER_PAGE} items of {INDEX_ENTRY_BYTES} bytes and is read from all shards of an"
        f" index. It costs {page_units(1):g} unit with one shard, {page_units(2):g} with two and {page_units(10):g}"
        " with ten, since a Query costs at least half a unit."
    )
    max_shards = ", ".join(f"{tier} {shards}" for tier, shards in AUTOPILOT_MAX_SHARDS.items())
    yield (
        "**Autopilot**: It follows `service/keyfence/hot_partitions/shard_recommendation.py` and begins with one shard"
        f" for each tenant. The peak is the highest mean over {WINDOW_SECONDS} s in the last"
        f" {WINDOW_SECONDS * WINDOWS} s of all requests. If the peak is above {GROW_AT:.0%} of the capacity of the"
        f" shards, shards are added until it is at most {GROW_TO:.0%}. New shards are read immediately and written"
        f" {SETTLE_SECONDS} s later. Maximum of shards: {max_shards}."
    )
    yield (
        f"**Prices**: {DEFAULT_PRICES.region} on {DEFAULT_PRICES.as_of}: {DEFAULT_PRICES.read} USD for a million read"
        f" units and {DEFAULT_PRICES.write} USD for a million write units. A month is 30 days with the traffic of the"
        " run."
    )
    yield (
        f"**Simulation**: Tenants that may use {SIMULATED_ABOVE:.0%} of a limit or more than their quota are simulated"
        " second by second, with random traffic and random hashes. All others are never throttled and are counted by"
        f" formulas. A point of the plot stands for {STEP_SECONDS} s."
    )
