"""Several questions about one table as one: all keys and all attributes of a batch must be allowed together."""

from collections.abc import Iterable

from keyfence_iam.evaluator.authorisation import Authorisation, Value
from keyfence_iam.evaluator.requests.unconfirmed import WIDTH

_SCAN = "dynamodb:FullTableScan"


def union(asked: Iterable[Authorisation]) -> tuple[Authorisation, ...]:
    """By action and resource. A scan stays by itself: beside others its lack of leading keys would not be seen."""
    groups: dict[tuple[str, str, Value | None], Authorisation] = {}
    for one in asked:
        group = (one.action, one.resource, one.context.get(_SCAN))
        groups[group] = _both(groups[group], one) if group in groups else one
    return tuple(groups.values())


def _both(one: Authorisation, other: Authorisation) -> Authorisation:
    context = dict(one.context)
    for key, value in other.context.items():
        context[key] = _wider(key, context.get(key, value), value)
    return Authorisation(one.action, one.resource, context)


def _wider(key: str, one: Value, other: Value) -> Value:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return tuple(dict.fromkeys((*one, *other)))
    width = WIDTH.get(key)
    return one if width is None else max(one, other, key=lambda value: width[str(value)])
