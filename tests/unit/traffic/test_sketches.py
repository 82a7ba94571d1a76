"""A sketch never undercounts, overcounts by a bounded error alone, and never loses what is heavy."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from keyfence.hot_partitions.window import SpaceSavingSketch

STREAMS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 50)), max_size=300)


def filled(size: int, stream: list[tuple[int, int]]) -> tuple[SpaceSavingSketch[int], Counter[int]]:
    sketch: SpaceSavingSketch[int] = SpaceSavingSketch(size)
    truth: Counter[int] = Counter()
    for key, weight in stream:
        sketch.add(key, weight).write += weight
        truth[key] += weight
    return sketch, truth


@given(st.integers(1, 20), STREAMS)
def test_a_weight_is_at_most_by_its_error_too_high_and_never_too_low(size: int, stream: list[tuple[int, int]]) -> None:
    sketch, truth = filled(size, stream)
    for key, tally in sketch:
        assert tally.weight - tally.error <= truth[key] <= tally.weight


@given(st.integers(1, 20), STREAMS)
def test_no_error_is_more_than_the_total_divided_by_the_size(size: int, stream: list[tuple[int, int]]) -> None:
    sketch, truth = filled(size, stream)
    assert sketch.total == truth.total()
    assert all(tally.error <= truth.total() / size for _, tally in sketch)


@given(st.integers(1, 20), STREAMS)
def test_whoever_weighs_more_than_that_is_there(size: int, stream: list[tuple[int, int]]) -> None:
    sketch, truth = filled(size, stream)
    heavy = {key for key, weight in truth.items() if weight > truth.total() / size}
    assert heavy <= {key for key, _ in sketch}


@given(st.integers(1, 20), STREAMS)
def test_what_is_counted_beside_the_weight_is_never_more_than_there_was(
    size: int, stream: list[tuple[int, int]]
) -> None:
    """So that advice is never given for what was somebody else's."""
    sketch, truth = filled(size, stream)
    for key, tally in sketch:
        assert truth[key] - tally.error <= tally.write <= truth[key]


@given(st.integers(1, 20), STREAMS)
def test_its_memory_has_a_bound(size: int, stream: list[tuple[int, int]]) -> None:
    sketch, _ = filled(size, stream)
    assert len(sketch) == min(size, len({key for key, _ in stream})) == len(sketch._lightest)


@given(st.integers(31, 40), STREAMS)
def test_where_there_is_room_for_all_it_is_exact(size: int, stream: list[tuple[int, int]]) -> None:
    sketch, truth = filled(size, stream)
    assert {key: (tally.weight, tally.error) for key, tally in sketch} == {
        key: (weight, 0) for key, weight in truth.items()
    }
