"""Lists of the schema, walked page by page."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLField, get_named_type

from service.graphql.schema import schema
from tests.lists.growing import Growth
from tests.world import Session


def connections() -> Iterator[str]:
    """Every field of the query that has pages."""
    root = schema._schema.query_type
    assert root is not None
    return (name for name, one in root.fields.items() if _has_pages(one))


def _has_pages(one: GraphQLField) -> bool:
    return get_named_type(one.type).name.endswith("Connection")


@dataclass(slots=True)
class Walk:
    """One caller on the way through a list; `seen` is what each node is known by."""

    session: Session
    name: str
    growth: Growth
    size: int
    seen: list[str]
    after: str | None = None
    over: bool = False

    async def on(self) -> None:
        """One page further."""
        page = (await self.session.ask(self._document(), first=self.size, after=self.after))[self.name]
        found = [str(edge["node"][self.growth.known_by]) for edge in page["edges"]]
        assert len(found) == self.size or not page["pageInfo"]["hasNextPage"]
        self.seen += found
        self.after, self.over = page["pageInfo"]["endCursor"], not page["pageInfo"]["hasNextPage"]

    async def to_end(self) -> list[str]:
        while not self.over:
            await self.on()
        return self.seen

    def _document(self) -> str:
        given = "".join(f"{name}: {_literal(value)}, " for name, value in self.growth.arguments.items())
        return f"""query($first: Int!, $after: String) {{ {self.name}({given}first: $first, after: $after) {{
          edges {{ node {{ {self.growth.known_by} }} }} pageInfo {{ hasNextPage endCursor }} }} }}"""


def _literal(value: Any) -> str:
    return str(value).replace("'", '"') if isinstance(value, list) else f'"{value}"'
