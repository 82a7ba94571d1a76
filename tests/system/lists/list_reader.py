"""`ListReader`: reads a list of the schema page by page."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graphql import GraphQLObjectType, get_named_type

from keyfence.app.domain_loading import load_domains
from tests.system.lists.list_cases import ListCase, Shop


def paged_fields() -> Iterator[str]:
    """Yields every field of the schema that returns pages, such as `Query.users`."""
    for type_name, type_ in load_domains().schema._schema.type_map.items():
        if isinstance(type_, GraphQLObjectType):
            yield from (f"{type_name}.{name}" for name, field in type_.fields.items() if _has_pages(field.type))


def _has_pages(type_: Any) -> bool:
    named_type = get_named_type(type_)
    return isinstance(named_type, GraphQLObjectType) and "pageInfo" in named_type.fields


@dataclass(slots=True, kw_only=True)
class ListReader:
    """Reads a list page by page. `name` is the field, such as `Query.users`. `ids` has the elements read so far."""

    shop: Shop
    name: str
    case: ListCase
    page_size: int
    ids: list[str] = field(default_factory=list)
    cursor: str | None = None
    is_finished: bool = False

    async def read_page(self) -> None:
        page = await self._request_page()
        page_ids = [str(edge["node"][self.case.id_field]) for edge in page["edges"]]
        has_next = page["pageInfo"]["hasNextPage"]
        assert len(page_ids) == self.page_size or not has_next
        self.ids += page_ids
        self.cursor, self.is_finished = page["pageInfo"]["endCursor"], not has_next

    async def read_all(self) -> list[str]:
        while not self.is_finished:
            await self.read_page()
        return self.ids

    async def _request_page(self) -> dict[str, Any]:
        client, variables = self.shop.client, {"first": self.page_size, "after": self.cursor}
        if self.case.parent is None:
            data = await client.data(f"query($first: Int!, $after: String) {{ {self._selection} }}", **variables)
        else:
            parent = f"parent: {self.name.partition('.')[0].lower()}(id: $id) {{ {self._selection} }}"
            document = f"query($id: ID!, $first: Int!, $after: String) {{ {parent} }}"
            data = (await client.data(document, id=self.case.parent(self.shop), **variables))["parent"]
        page: dict[str, Any] = data["list"]
        return page

    @property
    def _selection(self) -> str:
        arguments = "".join(f"{name}: {value}, " for name, value in self.case.arguments.items())
        return f"""list: {self.name.partition(".")[2]}({arguments}first: $first, after: $after) {{
          edges {{ node {{ {self.case.id_field} }} }} pageInfo {{ hasNextPage endCursor }} }}"""
