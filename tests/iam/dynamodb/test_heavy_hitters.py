"""A Space-Saving sketch never undercounts, overcounts by a bounded error only, and never loses a heavy key."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.dynamodb.traffic_window import SpaceSavingSketch

SIZES = st.integers(1, 20)
STREAMS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 50)), max_size=300)


def fill(size: int, stream: list[tuple[int, int]]) -> tuple[SpaceSavingSketch[int], Counter[int]]:
    """Returns a sketch of the stream, and the exact weight of each key."""
    sketch: SpaceSavingSketch[int] = SpaceSavingSketch(size)
    exact: Counter[int] = Counter()
    for key, weight in stream:
        sketch.add(key, weight).write_units += weight
        exact[key] += weight
    return sketch, exact


@given(SIZES, STREAMS)
def test_a_weight_is_never_too_low_and_at_most_its_error_too_high(size: int, stream: list[tuple[int, int]]) -> None:
    sketch, exact = fill(size, stream)
    for key, entry in sketch:
        assert entry.weight - entry.error <= exact[key] <= entry.weight


@given(SIZES, STREAMS)
def test_no_error_is_greater_than_the_total_divided_by_the_size(size: int, stream: list[tuple[int, int]]) -> None:
    sketch, exact = fill(size, stream)
    assert sketch.total == exact.total()
    assert all(entry.error <= exact.total() / size for _, entry in sketch)


@given(SIZES, STREAMS)
def test_a_key_heavier_than_the_total_divided_by_the_size_is_kept(size: int, stream: list[tuple[int, int]]) -> None:
    sketch, exact = fill(size, stream)
    heavy = {key for key, weight in exact.items() if weight > exact.total() / size}
    assert heavy <= {key for key, _ in sketch}


@given(SIZES, STREAMS)
def test_counts_other_than_the_weight_are_never_too_high(size: int, stream: list[tuple[int, int]]) -> None:
    """Otherwise a partition could be reported as hot because of the traffic of another one."""
    sketch, exact = fill(size, stream)
    for key, entry in sketch:
        assert exact[key] - entry.error <= entry.write_units <= exact[key]


@given(SIZES, STREAMS)
def test_the_number_of_keys_is_bounded_by_the_size(size: int, stream: list[tuple[int, int]]) -> None:
    sketch, _ = fill(size, stream)
    assert len(sketch) == min(size, len({key for key, _ in stream})) == len(sketch._heap)


@given(st.integers(31, 40), STREAMS)
def test_a_sketch_with_room_for_every_key_is_exact(size: int, stream: list[tuple[int, int]]) -> None:
    sketch, exact = fill(size, stream)
    assert {key: (entry.weight, entry.error) for key, entry in sketch} == {
        key: (weight, 0) for key, weight in exact.items()
    }
