"""Reads lists of the schema page by page."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graphql import GraphQLObjectType, get_named_type

from keyfence.app.domain_loading import load_domains
from tests.system.lists.list_growth import Growth, Shop


def connections() -> Iterator[str]:
    """Returns every field with pages, of the query type and of all types that it leads to."""
    for name, kind in load_domains().schema._schema.type_map.items():
        if isinstance(kind, GraphQLObjectType):
            yield from (f"{name}.{one}" for one, found in kind.fields.items() if _has_pages(found.type))


def _has_pages(kind: Any) -> bool:
    named = get_named_type(kind)
    return isinstance(named, GraphQLObjectType) and "pageInfo" in named.fields


@dataclass(slots=True, kw_only=True)
class ListWalk:
    """A caller who reads a list page by page. `seen` has what identifies each node."""

    shop: Shop
    name: str
    growth: Growth
    size: int
    seen: list[str] = field(default_factory=list)
    after: str | None = None
    over: bool = False

    async def next_page(self) -> None:
        """Reads the next page."""
        page = await self._page()
        found = [str(edge["node"][self.growth.known_by]) for edge in page["edges"]]
        assert len(found) == self.size or not page["pageInfo"]["hasNextPage"]
        self.seen += found
        self.after, self.over = page["pageInfo"]["endCursor"], not page["pageInfo"]["hasNextPage"]

    async def to_end(self) -> list[str]:
        while not self.over:
            await self.next_page()
        return self.seen

    async def _page(self) -> dict[str, Any]:
        place = {"first": self.size, "after": self.after}
        if self.growth.of is None:
            found = await self.shop.session.data(f"query($first: Int!, $after: String) {{ {self._list} }}", **place)
        else:
            whose = f"found: {self.name.partition('.')[0].lower()}(id: $id) {{ {self._list} }}"
            document = f"query($id: ID!, $first: Int!, $after: String) {{ {whose} }}"
            found = (await self.shop.session.data(document, id=self.growth.of(self.shop), **place))["found"]
        page: dict[str, Any] = found["list"]
        return page

    @property
    def _list(self) -> str:
        given = "".join(f"{name}: {value}, " for name, value in self.growth.arguments.items())
        return f"""list: {self.name.partition(".")[2]}({given}first: $first, after: $after) {{
          edges {{ node {{ {self.growth.known_by} }} }} pageInfo {{ hasNextPage endCursor }} }}"""
