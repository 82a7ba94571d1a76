"""Faults are due for the intended calls, and every run gives the same calls."""

from keyfence_iam.gate.fault_definition import Fault
from keyfence_iam.gate.fault_injection import FaultPlan


def _due_calls(fault: Fault, calls: int = 12) -> list[int]:
    """Returns the numbers of the calls that get the fault, from 1."""
    faults = FaultPlan([fault])
    return [number for number in range(1, calls + 1) if faults.due_faults("dynamodb", "PutItem", ("TENANT#acme#A",))]


def test_a_fault_without_a_count_is_due_for_every_call() -> None:
    assert _due_calls(Fault(kind="error"), 3) == [1, 2, 3]


def test_a_fault_for_the_nth_call_is_due_once() -> None:
    assert _due_calls(Fault(kind="error", nth=3)) == [3]


def test_a_fault_for_every_nth_call_is_due_for_each_multiple_of_n() -> None:
    assert _due_calls(Fault(kind="error", every=5)) == [5, 10]


def test_a_fault_is_injected_at_most_as_often_as_its_times() -> None:
    assert _due_calls(Fault(kind="error", every=2, times=2)) == [2, 4]


def test_a_seed_always_selects_the_same_calls_and_another_seed_selects_others() -> None:
    due_calls = [_due_calls(Fault(kind="error", probability=0.5, seed=seed), 100) for seed in (1, 1, 2)]
    assert due_calls[0] == due_calls[1] != due_calls[2]
    assert 20 < len(due_calls[0]) < 80


def test_a_fault_with_probability_0_is_never_due_and_with_probability_1_always() -> None:
    assert _due_calls(Fault(kind="error", probability=0)) == []
    assert len(_due_calls(Fault(kind="error", probability=1))) == 12


def test_other_operations_services_and_keys_are_not_counted() -> None:
    fault = Fault(kind="error", operation="PutItem", key_prefix="TENANT#acme#", nth=2)
    faults = FaultPlan([fault])
    keys = ("TENANT#acme#A",)
    assert not faults.due_faults("dynamodb", "PutItem", keys)
    assert not faults.due_faults("dynamodb", "GetItem", keys)
    assert not faults.due_faults("sts", "PutItem", keys)
    assert not faults.due_faults("dynamodb", "PutItem", ("TENANT#acmecorp#A",))
    assert not faults.due_faults("dynamodb", "PutItem")
    assert faults.due_faults("dynamodb", "PutItem", ("TENANT#globex#A", *keys)) == (fault,)


def test_each_fault_counts_on_its_own() -> None:
    first, second = Fault(kind="error", nth=1), Fault(kind="latency", milliseconds=1, nth=2)
    faults = FaultPlan([first, second])
    assert faults.due_faults("dynamodb", "GetItem") == (first,)
    assert faults.due_faults("dynamodb", "GetItem") == (second,)
    assert faults.due_faults("dynamodb", "GetItem") == ()
