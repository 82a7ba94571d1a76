"""What is shown is what happened in the last seconds, the busiest first, and of too many the lightest are forgotten."""

from typing import Any

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits, UnitKind
from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
from keyfence_iam.gate.throughput.traffic_report import TrafficReport, slot_of, tenant_of
from keyfence_iam.gate.throughput.window import SECONDS
from keyfence_iam.gate.throughput.windows import KEPT, Windows

NOW = 1000.0


def claim(key: str, units: float = 1, kind: UnitKind = "write", index: str | None = None) -> PartitionUnits:
    return PartitionUnits(Partition("t", index, key), kind, units)


def seen(traffic: TrafficReport, now: float = NOW) -> dict[str, Any]:
    return traffic.seen(now, PartitionRates())


def test_rates_are_over_the_window_and_peaks_over_one_second() -> None:
    traffic = TrafficReport()
    traffic.spent(claim("TENANT#a1#X", 50), NOW)
    traffic.spent(claim("TENANT#a1#X", 30), NOW + 0.9)
    traffic.spent(claim("TENANT#a1#X", 10), NOW + 1)
    traffic.spent(claim("TENANT#a1#X", 7, "read"), NOW + 1)
    (one,) = seen(traffic, NOW + 1)["partitions"]
    assert (one["write"], one["peakWrite"], one["read"], one["peakRead"]) == (9, 80, 0.7, 7)


def test_what_is_older_than_the_window_is_gone() -> None:
    traffic = TrafficReport()
    traffic.spent(claim("TENANT#a1#X", 50), NOW)
    traffic.throttled(claim("TENANT#a1#X"), NOW)
    assert seen(traffic, NOW + SECONDS - 1)["partitions"][0]["throttles"] == 1
    assert seen(traffic, NOW + SECONDS)["partitions"] == []
    assert seen(traffic, NOW + SECONDS)["tenants"] == []


def test_a_tenant_is_shown_with_all_its_partitions_and_a_neighbour_apart() -> None:
    traffic = TrafficReport()
    traffic.spent(claim("TENANT#a1#X", 10), NOW)
    traffic.spent(claim("TENANT#a1#Y", 10, index="GSI1"), NOW)
    traffic.spent(claim("TENANT#a10#X", 5), NOW)
    traffic.throttled(claim("TENANT#a10#X"), NOW)
    traffic.spent(claim("CONTROL#TENANTS", 10, "read"), NOW)
    told = [
        (one["tenant"], one["read"], one["write"], one["throttles"], one["partitions"])
        for one in seen(traffic)["tenants"]
    ]
    assert told == [("a1", 0, 2, 0, 2), ("a10", 0, 0.5, 1, 1), ("-", 1, 0, 0, 1)]


def test_partitions_are_told_by_how_near_they_are_to_a_limit() -> None:
    traffic = TrafficReport()
    traffic.spent(claim("TENANT#a1#READ", 2000, "read"), NOW)
    traffic.spent(claim("TENANT#a1#WRITE", 1000), NOW)
    assert [one["key"] for one in seen(traffic)["partitions"]] == ["TENANT#a1#WRITE", "TENANT#a1#READ"]


def test_the_slots_of_one_collection_are_counted_together() -> None:
    traffic = TrafficReport()
    for slot in ("00", "1f", "ff"):
        traffic.spent(claim(f"TENANT#a1#OPEN#{slot}", index="GSI2"), NOW)
    traffic.spent(claim("TENANT#a1#OPEN#00"), NOW)
    traffic.spent(claim("TENANT#a2#OPEN#00", index="GSI2"), NOW)
    told = {(one["index"], one["key"]): (one["slot"], one["slots"]) for one in seen(traffic)["partitions"]}
    assert told["GSI2", "TENANT#a1#OPEN#1f"] == ("1f", 3)
    assert told[None, "TENANT#a1#OPEN#00"] == ("00", 1)
    assert told["GSI2", "TENANT#a2#OPEN#00"] == ("00", 1)


def test_only_what_ends_in_two_hexadecimal_digits_has_a_slot() -> None:
    assert [slot_of(key) for key in ("A#00", "A#fg", "A#000", "A00", "A#0F", "A\n#0a")] == [
        "00", None, None, None, None, "0a"]  # fmt: skip


def test_only_the_boundary_makes_a_tenant() -> None:
    keys = ("TENANT#a1#X", "TENANT#a1", "XTENANT#a1#", "TENANT#A1#", "CONTROL#TENANT#a1#")
    assert [tenant_of(key) for key in keys] == ["a1", "-", "-", "-", "-"]


def test_of_too_many_the_heavy_ones_are_kept() -> None:
    windows: Windows[int] = Windows(kept=100)
    for number in range(5000):
        windows.of(number, NOW).spend(claim("x", 1000 if number == 7 else 1), NOW)
        assert len(windows) <= 100
    assert 7 in windows.busy(NOW)


def test_the_quiet_ones_go_first() -> None:
    windows: Windows[int] = Windows(kept=4)
    windows.of(0, NOW).spend(claim("x", 1000), NOW)
    for number in range(1, 5):
        windows.of(number, NOW + SECONDS).spend(claim("x"), NOW + SECONDS)
    assert 0 not in windows.busy(NOW)


def test_traffic_on_many_partitions_keeps_a_bounded_number() -> None:
    traffic = TrafficReport()
    for number in range(3 * KEPT):
        traffic.spent(claim(f"TENANT#a1#{number}"), NOW)
    assert seen(traffic)["tenants"][0]["partitions"] <= KEPT
    assert seen(traffic)["tenants"][0]["write"] == 3 * KEPT / SECONDS
