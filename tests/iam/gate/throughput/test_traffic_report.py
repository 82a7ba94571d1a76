"""The traffic report shows the last ten seconds, the busiest first, in bounded memory."""

from typing import Any

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits, UnitKind
from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
from keyfence_iam.gate.throughput.traffic_report import MAX_KEYS, WINDOW_SECONDS, TrafficReport
from keyfence_iam.tenant import split_shard, tenant_of_key
from tests.fakes.clock import ManualClock

NOW = 1000.0


def units(key: str, number: float = 1, kind: UnitKind = "write", index: str | None = None) -> PartitionUnits:
    return PartitionUnits(Partition("t", index, key), kind, number)


def traffic_at(clock: ManualClock) -> TrafficReport:
    clock.now = NOW
    return TrafficReport(group_of=tenant_of_key, split_shard=split_shard, now=clock)


def report(traffic: TrafficReport) -> dict[str, Any]:
    return traffic.report(PartitionRates())


def test_rates_are_over_the_window_and_peaks_over_one_second() -> None:
    clock = ManualClock()
    traffic = traffic_at(clock)
    traffic.record(units("TENANT#a1#X", 50))
    clock.now = NOW + 0.9
    traffic.record(units("TENANT#a1#X", 30))
    clock.now = NOW + 1
    traffic.record(units("TENANT#a1#X", 10))
    traffic.record(units("TENANT#a1#X", 7, "read"))
    (one,) = report(traffic)["partitions"]
    assert (one["write"], one["peakWrite"], one["read"], one["peakRead"]) == (9, 80, 0.7, 7)


def test_traffic_that_is_older_than_the_window_is_gone() -> None:
    clock = ManualClock()
    traffic = traffic_at(clock)
    traffic.record(units("TENANT#a1#X", 50))
    traffic.record_throttle(units("TENANT#a1#X"))
    clock.now = NOW + WINDOW_SECONDS - 1
    assert report(traffic)["partitions"][0]["throttles"] == 1
    clock.now = NOW + WINDOW_SECONDS
    assert report(traffic)["partitions"] == []
    assert report(traffic)["groups"] == []


def test_a_tenant_is_shown_with_all_its_partitions_and_a_neighbour_apart() -> None:
    traffic = traffic_at(ManualClock())
    traffic.record(units("TENANT#a1#X", 10))
    traffic.record(units("TENANT#a1#Y", 10, index="GSI1"))
    traffic.record(units("TENANT#a10#X", 5))
    traffic.record_throttle(units("TENANT#a10#X"))
    traffic.record(units("CONTROL#TENANTS", 10, "read"))
    rows = [
        (one["group"], one["read"], one["write"], one["throttles"], one["partitions"])
        for one in report(traffic)["groups"]
    ]
    assert rows == [("a1", 0, 2, 0, 2), ("a10", 0, 0.5, 1, 1), ("-", 1, 0, 0, 1)]


def test_a_report_without_groups_and_shards_still_shows_partitions() -> None:
    traffic = TrafficReport(now=ManualClock())
    traffic.record(units("TENANT#a1#OPEN#00", 10))
    (one,) = report(traffic)["partitions"]
    assert (one["group"], one["shard"], one["shards"]) == ("-", None, 1)


def test_partitions_are_sorted_by_how_near_they_are_to_a_limit() -> None:
    traffic = traffic_at(ManualClock())
    traffic.record(units("TENANT#a1#READ", 2000, "read"))
    traffic.record(units("TENANT#a1#WRITE", 1000))
    assert [one["key"] for one in report(traffic)["partitions"]] == ["TENANT#a1#WRITE", "TENANT#a1#READ"]


def test_the_shards_of_one_collection_are_counted_together() -> None:
    traffic = traffic_at(ManualClock())
    for shard in ("00", "1f", "ff"):
        traffic.record(units(f"TENANT#a1#OPEN#{shard}", index="GSI2"))
    traffic.record(units("TENANT#a1#OPEN#00"))
    traffic.record(units("TENANT#a2#OPEN#00", index="GSI2"))
    shards = {(one["index"], one["key"]): (one["shard"], one["shards"]) for one in report(traffic)["partitions"]}
    assert shards["GSI2", "TENANT#a1#OPEN#1f"] == ("1f", 3)
    assert shards[None, "TENANT#a1#OPEN#00"] == ("00", 1)
    assert shards["GSI2", "TENANT#a2#OPEN#00"] == ("00", 1)


def test_only_two_hexadecimal_digits_at_the_end_are_a_shard() -> None:
    assert [split_shard(key)[1] for key in ("A#00", "A#fg", "A#000", "A00", "A#0F", "A\n#0a")] == [
        "00", None, None, None, None, "0a"]  # fmt: skip


def test_only_a_key_with_a_tenant_prefix_has_a_tenant() -> None:
    keys = ("TENANT#a1#X", "TENANT#a1", "XTENANT#a1#", "TENANT#A1#", "CONTROL#TENANT#a1#")
    assert [tenant_of_key(key) for key in keys] == ["a1", None, None, None, None]


def test_a_heavy_partition_is_kept_among_too_many_light_ones() -> None:
    traffic = traffic_at(ManualClock())
    for number in range(3 * MAX_KEYS):
        traffic.record(units(f"TENANT#a1#{number}", 1000 if number == 7 else 1))
    assert report(traffic)["partitions"][0]["key"] == "TENANT#a1#7"


def test_traffic_on_many_partitions_keeps_a_bounded_number() -> None:
    traffic = traffic_at(ManualClock())
    for number in range(3 * MAX_KEYS):
        traffic.record(units(f"TENANT#a1#{number}"))
    (group,) = report(traffic)["groups"]
    assert group["partitions"] <= MAX_KEYS
    assert group["write"] == 3 * MAX_KEYS / WINDOW_SECONDS
