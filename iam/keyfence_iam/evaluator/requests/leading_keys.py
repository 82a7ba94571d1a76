"""Partition key values as IAM sees them: texts, never none of them and never an empty one."""

from collections.abc import Iterable, Sequence

from keyfence_iam.evaluator.authorisation import Value
from keyfence_iam.evaluator.requests.refusal import NotUnderstood
from keyfence_iam.evaluator.requests.shape import attribute_value

LEADING_KEYS = "dynamodb:LeadingKeys"
_PARTS = tuple(f"dynamodb:{nth}PartitionKeyValues" for nth in ("First", "Second", "Third", "Fourth"))


def key_text(value: object) -> str:
    """Numbers and binaries have no documented text, and an empty text would count as no value at all."""
    found = attribute_value(value, "a partition key").get("S")
    if not isinstance(found, str) or not found:
        raise NotUnderstood("a partition key that is not a text")
    return whole(found)


def whole(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotUnderstood("a partition key with half a character (a lone surrogate)") from None
    return value


def led_by(parts: Sequence[Iterable[str]]) -> dict[str, Value]:
    """The condition keys for the values of each partition key attribute, the first of which leads."""
    values = [tuple(dict.fromkeys(part)) for part in parts]
    if not 0 < len(values) <= len(_PARTS) or not all(values):
        raise NotUnderstood("no partition key value")
    named: dict[str, Value] = {LEADING_KEYS: values[0]}
    named.update(zip(_PARTS, values, strict=False))
    return named
