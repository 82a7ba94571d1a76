"""Compares the line of a record with the stored record, and names the fields that differ."""

from collections.abc import Iterator


def differing_fields(left: object, right: object, path: str = "") -> Iterator[tuple[str, object, object]]:
    """Yields the path of each field in which two lines differ, with the left and the right value."""
    if isinstance(left, dict) and isinstance(right, dict):
        for name in left | right:
            yield from differing_fields(left.get(name), right.get(name), f"{path}.{name}" if path else name)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for position, (left_item, right_item) in enumerate(zip(left, right, strict=True)):
            yield from differing_fields(left_item, right_item, f"{path}[{position}]")
    elif left != right:
        yield path, left, right
