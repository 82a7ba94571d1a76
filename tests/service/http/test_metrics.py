"""Metrics are rendered in the Prometheus text format; the histogram is cumulative."""

from keyfence.http.metrics import Metrics
from keyfence.store.dynamodb.capacity import CapacityMeter

NAME = "keyfence_http_request_duration_seconds"


def test_a_bucket_counts_all_requests_up_to_its_bound() -> None:
    metrics = Metrics()
    for seconds in (0.005, 0.0051, 0.3, 60.0):
        metrics.count_request(200, seconds)
    lines = metrics.render().splitlines()
    assert f'{NAME}_bucket{{le="0.005"}} 1' in lines
    assert f'{NAME}_bucket{{le="0.01"}} 2' in lines
    assert f'{NAME}_bucket{{le="0.25"}} 2' in lines
    assert f'{NAME}_bucket{{le="0.5"}} 3' in lines
    assert f'{NAME}_bucket{{le="10.0"}} 3' in lines
    assert f'{NAME}_bucket{{le="+Inf"}} 4' in lines
    assert f"{NAME}_sum 60.310100" in lines
    assert f"{NAME}_count 4" in lines


def test_the_text_ends_with_a_line_feed() -> None:
    assert Metrics().render().endswith("\n")


def test_calls_and_units_of_dynamodb_are_counted_by_operation_over_all_requests() -> None:
    total = CapacityMeter()
    for units in (0.5, 2):
        CapacityMeter(accounts=(total,)).record("Query", {"ConsumedCapacity": {"CapacityUnits": units}})
    CapacityMeter(accounts=(total,)).record(
        "BatchGetItem", {"ConsumedCapacity": [{"CapacityUnits": 3.0}, {"CapacityUnits": 1.0}]}
    )
    lines = Metrics(total).render().splitlines()
    assert 'keyfence_dynamodb_calls_total{operation="Query"} 2' in lines
    assert 'keyfence_dynamodb_units_total{operation="Query"} 2.5' in lines
    assert 'keyfence_dynamodb_units_total{operation="BatchGetItem"} 4.0' in lines


def test_denied_calls_and_sessions_are_counted() -> None:
    sessions = {"issued": 0, "throttled": 2}
    metrics = Metrics(sessions=sessions)
    metrics.count_denied_call()
    sessions["issued"] = 3
    lines = metrics.render().splitlines()
    assert "keyfence_dynamodb_denied_calls_total 1" in lines
    assert 'keyfence_sts_sessions_total{event="issued"} 3' in lines
    assert 'keyfence_sts_sessions_total{event="throttled"} 2' in lines
