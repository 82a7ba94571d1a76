"""Results of pages can be added in any order, and their digests identify the items."""

from hypothesis import given
from hypothesis import strategies as st

from keyfence.jobs.scan_checkpoint import PassResult
from keyfence.jobs.scan_pass import item_digest
from keyfence.store.codec import Item

parts = st.builds(
    PassResult,
    scanned=st.integers(0, 9),
    changed=st.integers(0, 9),
    wrong=st.integers(0, 9),
    digest=st.integers(0, 2**128 - 1),
    counts=st.dictionaries(st.sampled_from(["unknown", "unreadable"]), st.integers(1, 9)),
)


@given(one=parts, other=parts, third=parts)
def test_results_of_pages_can_be_added_in_any_order(one: PassResult, other: PassResult, third: PassResult) -> None:
    assert one + other + third == third + (one + other)
    assert PassResult() + one == one


def test_the_sum_of_digests_differs_if_an_item_occurs_twice() -> None:
    one, other = item_digest({"PK": {"S": "a"}}), item_digest({"PK": {"S": "b"}})
    assert one != other
    assert PassResult(digest=one) + PassResult(digest=one) != PassResult(digest=other) + PassResult(digest=other)
    assert (PassResult(digest=one) + PassResult(digest=one)).digest not in {0, one}


def test_equal_items_have_the_same_digest_in_any_order_of_attributes_and_sets() -> None:
    item: Item = {"a": {"SS": ["x", "y"]}, "b": {"M": {"c": {"NS": ["1", "2"]}, "d": {"L": [{"S": "p"}, {"S": "q"}]}}}}
    again: Item = {"b": {"M": {"d": {"L": [{"S": "p"}, {"S": "q"}]}, "c": {"NS": ["2", "1"]}}}, "a": {"SS": ["y", "x"]}}
    turned: Item = {**item, "b": {"M": {"c": {"NS": ["1", "2"]}, "d": {"L": [{"S": "q"}, {"S": "p"}]}}}}
    assert item_digest(item) == item_digest(again)
    assert item_digest(item) != item_digest(turned), "a list has an order"
