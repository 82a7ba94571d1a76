"""`GroupRepository`: reads and writes the groups of one tenant."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from keyfence.domains.groups.access_patterns import group_by_id, groups, groups_by_name
from keyfence.domains.groups.model import Group, GroupId, checked_description, checked_name, is_alive
from keyfence.errors import NotFound
from keyfence.store import timestamps
from keyfence.store.embedded_edges import EmbeddedEdges
from keyfence.store.expressions import absent, equals
from keyfence.store.ids import checked_id, new_id
from keyfence.store.pagination import Page
from keyfence.store.table import Table
from keyfence.store.writes import (
    ActivityNote,
    StaleWrite,
    changed_fields,
    delete,
    put,
    require_version,
    retry_if_stale,
    update_model,
)

GROUP_NOT_FOUND = partial(NotFound, "no such group")
_CHECKS_BY_FIELD: dict[str, Callable[[Any], Any]] = {"name": checked_name, "description": checked_description}


def checked_group_id(text: str, field: str = "id") -> GroupId:
    return GroupId(checked_id("grp", text, field))


@dataclass(frozen=True, slots=True)
class GroupRepository:
    """The groups of the tenant that the table belongs to."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def find(self, id: GroupId) -> Group | None:
        group = await self.table.find(group_by_id, id=id)
        return group if group and is_alive(group) else None

    async def get(self, id: GroupId) -> Group:
        if (group := await self.find(id)) is None:
            raise GROUP_NOT_FOUND()
        return group

    async def find_many(self, ids: Sequence[GroupId]) -> list[Group | None]:
        found = await self.table.find_many(group_by_id, [{"id": id} for id in ids])
        return [group if group and is_alive(group) else None for group in found]

    async def by_name(self, *, first: int, after: str | None) -> Page[Group]:
        return await self.table.page(groups_by_name, first=first, after=after)

    async def create(self, *, name: str, description: str | None) -> Group:
        now = self.now()
        group = Group(
            id=GroupId(new_id("grp")),
            name=checked_name(name),
            description=checked_description(description),
            created_at=now,
            updated_at=now,
            embedded_edges=EmbeddedEdges(),
        )
        note = ActivityNote("group.created", group.id, {"after": {"name": name, "description": description}})
        await self.table.write(put(groups, group, when=absent()), note=note)
        return group

    async def update(self, id: GroupId, *, expected_version: int | None = None, **changes: Any) -> Group:
        return await retry_if_stale(lambda: self._update(id, expected_version, changes))

    async def _update(self, id: GroupId, expected_version: int | None, changes: dict[str, Any]) -> Group:
        before = await self.get(id)
        require_version(before, expected_version, "group")
        after = self._with_changes(before, changes)
        if after != before:
            note = ActivityNote("group.updated", id, changed_fields(before, after, "name", "description"))
            await self.table.write(update_model(groups, before, after), note=note)
        return after

    def _with_changes(self, before: Group, changes: dict[str, Any]) -> Group:
        """Returns the group with the new values and the next version, or unchanged if all values are the same."""
        after = replace(before, **{name: _CHECKS_BY_FIELD[name](value) for name, value in changes.items()})
        return after if after == before else replace(after, version=before.version + 1, updated_at=self.now())

    async def begin_delete(self, id: GroupId) -> None:
        """Marks the group as deleted. Then no query returns the group, and no member can be added.

        Remove the memberships next, then call `finish_delete`. All steps can be repeated after a failure."""
        await retry_if_stale(lambda: self._begin_delete(id))

    async def _begin_delete(self, id: GroupId) -> None:
        group = await self.table.find(group_by_id, id=id)
        if group is None:
            raise GROUP_NOT_FOUND()
        if is_alive(group):
            now = self.now()
            deleted = replace(group, deleted_at=now, updated_at=now, version=group.version + 1)
            note = ActivityNote("group.deleted", id, {"before": {"name": group.name, "description": group.description}})
            await self.table.write(update_model(groups, group, deleted), note=note)

    async def finish_delete(self, id: GroupId) -> None:
        """Deletes the group's item. Does nothing if another request has deleted it at the same time."""
        try:
            await self.table.write(delete(groups, {"id": id}, when=equals("memberCount", 0)))
        except StaleWrite:
            if await self.table.find(group_by_id, id=id) is not None:
                raise
