"""What came of pages adds up, in whatever order."""

from hypothesis import given
from hypothesis import strategies as st

from keyfence.jobs.scan_pass import Done, fingerprint
from keyfence.store.codec import Item

parts = st.builds(
    Done,
    scanned=st.integers(0, 9),
    changed=st.integers(0, 9),
    wrong=st.integers(0, 9),
    digest=st.integers(0, 2**128 - 1),
    counts=st.dictionaries(st.sampled_from(["unknown", "unreadable"]), st.integers(1, 9)),
)


@given(one=parts, other=parts, third=parts)
def test_the_order_does_not_matter(one: Done, other: Done, third: Done) -> None:
    assert one + other + third == third + (one + other)
    assert Done() + one == one


def test_a_sum_of_fingerprints_tells_an_item_that_is_there_twice() -> None:
    one, other = fingerprint({"PK": {"S": "a"}}), fingerprint({"PK": {"S": "b"}})
    assert one != other
    assert Done(digest=one) + Done(digest=one) != Done(digest=other) + Done(digest=other)
    assert (Done(digest=one) + Done(digest=one)).digest not in {0, one}


def test_the_same_item_has_the_same_fingerprint_however_it_is_given() -> None:
    item: Item = {"a": {"SS": ["x", "y"]}, "b": {"M": {"c": {"NS": ["1", "2"]}, "d": {"L": [{"S": "p"}, {"S": "q"}]}}}}
    again: Item = {"b": {"M": {"d": {"L": [{"S": "p"}, {"S": "q"}]}, "c": {"NS": ["2", "1"]}}}, "a": {"SS": ["y", "x"]}}
    turned: Item = {**item, "b": {"M": {"c": {"NS": ["1", "2"]}, "d": {"L": [{"S": "q"}, {"S": "p"}]}}}}
    assert fingerprint(item) == fingerprint(again)
    assert fingerprint(item) != fingerprint(turned), "a list has an order"
