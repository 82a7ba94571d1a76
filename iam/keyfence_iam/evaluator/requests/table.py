"""The tables that one call names, and what leads its items."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfence_iam.evaluator.authorisation import Value
from keyfence_iam.evaluator.requests.leading_keys import key_text, led_by
from keyfence_iam.evaluator.requests.place import Place, index_of
from keyfence_iam.evaluator.requests.refusal import NotUnderstood
from keyfence_iam.evaluator.requests.table_keys import TableKeys


@dataclass(frozen=True, slots=True)
class Table:
    """A named table; without `keys` nothing is known of what leads its items."""

    arn: str
    keys: TableKeys | None

    def resource(self, index: str | None) -> str:
        return self.arn if index is None else index_of(self.arn, index)

    def led_by(self, items: Iterable[Mapping[str, Any]]) -> dict[str, Value]:
        if self.keys is None:
            return {}
        return led_by([[key_text(_required(item, self.keys.partition)) for item in items]])

    def keep(self, changed: Iterable[str]) -> None:
        """DynamoDB refuses to move an item; an engine that does would move it past these questions."""
        if self.keys is not None and self.keys.partition in changed:
            raise NotUnderstood("an update that changes the partition key")


def _required(item: Mapping[str, Any], partition: str) -> object:
    if partition not in item:
        raise NotUnderstood(f"the partition key {partition!r} is missing")
    return item[partition]


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a place, and which of those that were named and must be known are not."""

    place: Place
    keys: Mapping[str, TableKeys]
    unknown: set[str] = field(default_factory=set)

    def resource(self, named: str) -> str:
        """The table's ARN, where its keys do not matter."""
        return self.place.locate(named).arn

    def named(self, named: str) -> Table:
        location = self.place.locate(named)
        keys = None if location.name is None else self.keys.get(location.name)
        if keys is None:
            self.unknown.add(location.name or location.arn)
        return Table(location.arn, keys)
