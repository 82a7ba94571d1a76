"""The traffic report shows the last ten seconds, the busiest partitions first, in limited memory."""

from typing import Any

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits, UnitKind
from keyfence_iam.gate.throughput.partition_rates import PartitionRates
from keyfence_iam.gate.throughput.traffic_report import MAX_KEYS, WINDOW_SECONDS, TrafficReport
from keyfence_iam.tenant import split_shard, tenant_of_key
from tests.fakes.clock import ManualClock

NOW = 1000.0


def units(key: str, count: float = 1, kind: UnitKind = "write", index: str | None = None) -> PartitionUnits:
    return PartitionUnits(Partition("t", index, key), kind, count)


def tenant_traffic(clock: ManualClock) -> TrafficReport:
    clock.now = NOW
    return TrafficReport(group_of=tenant_of_key, split_shard=split_shard, now=clock)


def report(traffic: TrafficReport) -> dict[str, Any]:
    return traffic.report(PartitionRates())


def test_rates_are_averages_of_the_window_and_peaks_are_of_one_second() -> None:
    clock = ManualClock()
    traffic = tenant_traffic(clock)
    traffic.record(units("TENANT#a1#X", 50))
    clock.now = NOW + 0.9
    traffic.record(units("TENANT#a1#X", 30))
    clock.now = NOW + 1
    traffic.record(units("TENANT#a1#X", 10))
    traffic.record(units("TENANT#a1#X", 7, "read"))
    (row,) = report(traffic)["partitions"]
    assert (row["write"], row["peakWrite"], row["read"], row["peakRead"]) == (9, 80, 0.7, 7)


def test_traffic_that_is_older_than_the_window_is_not_reported() -> None:
    clock = ManualClock()
    traffic = tenant_traffic(clock)
    traffic.record(units("TENANT#a1#X", 50))
    traffic.record_throttle(units("TENANT#a1#X"))
    clock.now = NOW + WINDOW_SECONDS - 1
    assert report(traffic)["partitions"][0]["throttles"] == 1
    clock.now = NOW + WINDOW_SECONDS
    assert report(traffic)["partitions"] == []
    assert report(traffic)["groups"] == []


def test_each_tenant_has_one_row_for_all_its_partitions() -> None:
    traffic = tenant_traffic(ManualClock())
    traffic.record(units("TENANT#a1#X", 10))
    traffic.record(units("TENANT#a1#Y", 10, index="GSI1"))
    traffic.record(units("TENANT#a10#X", 5))
    traffic.record_throttle(units("TENANT#a10#X"))
    traffic.record(units("CONTROL#TENANTS", 10, "read"))
    rows = [
        (row["group"], row["read"], row["write"], row["throttles"], row["partitions"])
        for row in report(traffic)["groups"]
    ]
    assert rows == [("a1", 0, 2, 0, 2), ("a10", 0, 0.5, 1, 1), ("-", 1, 0, 0, 1)]


def test_a_report_without_groups_and_shards_still_shows_partitions() -> None:
    traffic = TrafficReport(now=ManualClock())
    traffic.record(units("TENANT#a1#OPEN#00", 10))
    (row,) = report(traffic)["partitions"]
    assert (row["group"], row["shard"], row["shards"]) == ("-", None, 1)


def test_partitions_are_sorted_by_the_used_share_of_their_limit() -> None:
    traffic = tenant_traffic(ManualClock())
    traffic.record(units("TENANT#a1#READ", 2000, "read"))
    traffic.record(units("TENANT#a1#WRITE", 1000))
    assert [row["key"] for row in report(traffic)["partitions"]] == ["TENANT#a1#WRITE", "TENANT#a1#READ"]


def test_the_shards_of_one_collection_are_counted_together() -> None:
    traffic = tenant_traffic(ManualClock())
    for shard in ("00", "1f", "ff"):
        traffic.record(units(f"TENANT#a1#OPEN#{shard}", index="GSI2"))
    traffic.record(units("TENANT#a1#OPEN#00"))
    traffic.record(units("TENANT#a2#OPEN#00", index="GSI2"))
    shards = {(row["index"], row["key"]): (row["shard"], row["shards"]) for row in report(traffic)["partitions"]}
    assert shards["GSI2", "TENANT#a1#OPEN#1f"] == ("1f", 3)
    assert shards[None, "TENANT#a1#OPEN#00"] == ("00", 1)
    assert shards["GSI2", "TENANT#a2#OPEN#00"] == ("00", 1)


def test_only_two_hexadecimal_digits_at_the_end_are_a_shard() -> None:
    assert [split_shard(key)[1] for key in ("A#00", "A#fg", "A#000", "A00", "A#0F", "A\n#0a")] == [
        "00", None, None, None, None, "0a"]  # fmt: skip


def test_only_a_key_with_a_tenant_prefix_has_a_tenant() -> None:
    keys = ("TENANT#a1#X", "TENANT#a1", "XTENANT#a1#", "TENANT#A1#", "CONTROL#TENANT#a1#")
    assert [tenant_of_key(key) for key in keys] == ["a1", None, None, None, None]


def test_a_partition_with_much_traffic_is_kept_among_too_many_others() -> None:
    traffic = tenant_traffic(ManualClock())
    for number in range(3 * MAX_KEYS):
        traffic.record(units(f"TENANT#a1#{number}", 1000 if number == 7 else 1))
    assert report(traffic)["partitions"][0]["key"] == "TENANT#a1#7"


def test_the_number_of_counted_partitions_is_limited() -> None:
    traffic = tenant_traffic(ManualClock())
    for number in range(3 * MAX_KEYS):
        traffic.record(units(f"TENANT#a1#{number}"))
    (group,) = report(traffic)["groups"]
    assert group["partitions"] <= MAX_KEYS
    assert group["write"] == 3 * MAX_KEYS / WINDOW_SECONDS
