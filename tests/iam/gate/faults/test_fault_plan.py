"""Faults are due for the intended calls, and for the same ones every time."""

from keyfence_iam.gate.fault_injection import FaultPlan
from keyfence_iam.gate.faults import Fault


def _struck(fault: Fault, calls: int = 12) -> list[int]:
    faults = FaultPlan([fault])
    return [number for number in range(1, calls + 1) if faults.due_faults("dynamodb", "PutItem", ("TENANT#acme#A",))]


def test_a_fault_without_a_count_is_due_for_every_call() -> None:
    assert _struck(Fault(kind="error"), 3) == [1, 2, 3]


def test_a_fault_for_the_nth_call_is_due_once() -> None:
    assert _struck(Fault(kind="error", nth=3)) == [3]


def test_a_fault_for_every_nth_call_is_due_for_those() -> None:
    assert _struck(Fault(kind="error", every=5)) == [5, 10]


def test_a_fault_ends_after_its_times() -> None:
    assert _struck(Fault(kind="error", every=2, times=2)) == [2, 4]


def test_the_same_seed_chooses_the_same_calls_and_another_seed_others() -> None:
    by_seed = [_struck(Fault(kind="error", probability=0.5, seed=seed), 100) for seed in (1, 1, 2)]
    assert by_seed[0] == by_seed[1] != by_seed[2]
    assert 20 < len(by_seed[0]) < 80


def test_probability_0_is_never_due_and_1_always() -> None:
    assert _struck(Fault(kind="error", probability=0)) == []
    assert len(_struck(Fault(kind="error", probability=1))) == 12


def test_other_operations_services_and_keys_are_not_counted() -> None:
    fault = Fault(kind="error", operation="PutItem", key_prefix="TENANT#acme#", nth=2)
    faults = FaultPlan([fault])
    own = ("TENANT#acme#A",)
    assert not faults.due_faults("dynamodb", "PutItem", own)
    assert not faults.due_faults("dynamodb", "GetItem", own)
    assert not faults.due_faults("sts", "PutItem", own)
    assert not faults.due_faults("dynamodb", "PutItem", ("TENANT#acmecorp#A",))
    assert not faults.due_faults("dynamodb", "PutItem")
    assert faults.due_faults("dynamodb", "PutItem", ("TENANT#globex#A", *own)) == (fault,)


def test_each_fault_counts_on_its_own() -> None:
    first, second = Fault(kind="error", nth=1), Fault(kind="latency", milliseconds=1, nth=2)
    faults = FaultPlan([first, second])
    assert faults.due_faults("dynamodb", "GetItem") == (first,)
    assert faults.due_faults("dynamodb", "GetItem") == (second,)
    assert faults.due_faults("dynamodb", "GetItem") == ()
