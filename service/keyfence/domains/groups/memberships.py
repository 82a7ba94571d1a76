"""`MembershipRepository`: memberships, each an item of its own and embedded in the items of its user and its group."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial, reduce
from operator import or_
from typing import Any

from keyfence.domains.groups.access_patterns import (
    group_by_id,
    groups,
    groups_of_user,
    member_by_id,
    members,
    members_of_group,
    membership_of_user,
    memberships,
)
from keyfence.domains.groups.model import Group, GroupId, GroupRole, Member, MemberId, Membership, is_alive
from keyfence.errors import Conflict, Internal, NotFound, Throttled
from keyfence.store import timestamps
from keyfence.store.embedded_edges import EdgeAttributes, EmbeddedEdges, remove_edge
from keyfence.store.entity import Query
from keyfence.store.expressions import Condition, UpdateExpression, absent, equals, present
from keyfence.store.pagination import Edge as StoreEdge
from keyfence.store.pagination import Page, checked_page_size
from keyfence.store.table import Table
from keyfence.store.writes import (
    ActivityNote,
    Write,
    changed_fields,
    delete,
    put,
    retry_if_stale,
    update_attributes,
    update_model,
)

Edge = tuple[GroupId, MemberId]
MakeMembership = Callable[[str, EdgeAttributes], Membership]

REMOVE_BATCH = 24
MAX_ROUNDS = 50
ALREADY_MEMBER = partial(Conflict, "the user is a member of the group already")
GROUP_NOT_FOUND = partial(NotFound, "no such group")
USER_NOT_FOUND = partial(NotFound, "no such user")
MEMBERSHIP_NOT_FOUND = partial(NotFound, "the user is not a member of the group")


@dataclass(frozen=True, slots=True)
class MembershipRepository:
    """The memberships of the tenant that the table belongs to, read from the user or from the group."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def of_user(
        self, user_id: str, embedded: EmbeddedEdges, *, first: int, after: str | None
    ) -> Page[Membership]:
        make = partial(Membership.from_attributes, user_id)
        return await self._page(groups_of_user, embedded, make, first, after, user_id=user_id)

    async def of_group(
        self, group_id: str, embedded: EmbeddedEdges, *, first: int, after: str | None
    ) -> Page[Membership]:
        def make(user_id: str, attributes: EdgeAttributes) -> Membership:
            return Membership.from_attributes(user_id, group_id, attributes)

        return await self._page(members_of_group, embedded, make, first, after, group_id=group_id)

    async def _page(
        self,
        pattern: Query[Membership],
        embedded: EmbeddedEdges,
        make: MakeMembership,
        first: int,
        after: str | None,
        **end: str,
    ) -> Page[Membership]:
        """Makes the page from the embedded edges if they are enough for it. Otherwise queries the table."""
        known = embedded.first(checked_page_size(first) + 1) if after is None else None
        if known is None:
            return await self.table.page(pattern, first=first, after=after, between=None, **end)
        nodes = [make(child, attributes) for child, attributes in known[:first]]
        return self.table.page_from_models(pattern, nodes, has_next=len(known) > first, has_previous=False, **end)

    def with_cursor(self, membership: Membership) -> StoreEdge[Membership]:
        """Returns the membership with its cursor in the list of the group's members."""
        page = self.table.page_from_models(
            members_of_group, [membership], has_next=False, has_previous=False, group_id=membership.group_id
        )
        return page.edges[0]

    async def add(self, group_id: GroupId, user_id: MemberId, role: GroupRole) -> Membership:
        return await retry_if_stale(lambda: self._add(group_id, user_id, role))

    async def _add(self, group_id: GroupId, user_id: MemberId, role: GroupRole) -> Membership:
        group, member = await self._group_and_member(group_id, user_id)
        now = self.now()
        edge = Membership(user_id=user_id, group_id=group_id, role=role, created_at=now, updated_at=now)
        count = UpdateExpression(adds={("memberCount",): 1})
        await self.table.write(
            put(memberships, edge, when=absent(), on_failure=ALREADY_MEMBER),
            _update_group(group_id, count | _embedded(group).add(user_id, edge.attributes), _embedded(group)),
            _update_member(user_id, member.embedded_edges.add(group_id, edge.attributes), member.embedded_edges),
            note=ActivityNote("member.added", group_id, {"after": {"userId": user_id, "role": role}}),
        )
        return edge

    async def change(self, group_id: GroupId, user_id: MemberId, role: GroupRole) -> Membership:
        return await retry_if_stale(lambda: self._change(group_id, user_id, role))

    async def _change(self, group_id: GroupId, user_id: MemberId, role: GroupRole) -> Membership:
        """Reads the membership before the group and the user, so that their embedded edges contain it.

        The write requires that the membership is still the same one, by its creation time."""
        before = await self.table.find(membership_of_user, user_id=user_id, group_id=group_id)
        group, member = await self._group_and_member(group_id, user_id)
        if before is None:
            raise MEMBERSHIP_NOT_FOUND()
        after = replace(before, role=role, updated_at=self.now(), version=before.version + 1)
        await self.table.write(
            update_model(memberships, before, after, when=equals("createdAt", before.created_at)),
            _update_group(group_id, _embedded(group).change(user_id, after.attributes), _embedded(group)),
            _update_member(user_id, member.embedded_edges.change(group_id, after.attributes), member.embedded_edges),
            note=ActivityNote(
                "member.changed", group_id, {"of": {"userId": user_id}, **changed_fields(before, after, "role")}
            ),
        )
        return after

    async def remove(self, group_id: GroupId, user_id: MemberId) -> bool:
        """Returns False if the user was not a member."""
        await self._group_and_member(group_id, user_id)
        try:
            await self._remove_edges([(group_id, user_id)])
        except NotFound:
            return False
        return True

    async def remove_user(self, user_id: MemberId) -> None:
        """Removes a user from every group. Can be repeated after a failure."""
        edges = [(edge.group_id, user_id) async for edge in self.table.iterate_shards(groups_of_user, user_id=user_id)]
        await self._remove_in_batches(edges)

    async def clear_group(self, group_id: GroupId) -> None:
        """Removes all members of a group. Repeats this until the member count is 0, because the index that lists the
        members is eventually consistent."""
        for attempt in range(MAX_ROUNDS):
            group = await self.table.find(group_by_id, id=group_id)
            if group is None or group.member_count == 0:
                return
            edges = [
                (group_id, edge.user_id)
                async for edge in self.table.iterate_shards(members_of_group, group_id=group_id)
            ]
            await self._remove_in_batches(edges)
            await asyncio.sleep(0 if edges else 0.02 * attempt)
        raise Throttled(
            "the members of the group are still being removed; repeat the request to continue", retryAfterMs=1000
        )

    async def _remove_in_batches(self, edges: Sequence[Edge]) -> None:
        for start in range(0, len(edges), REMOVE_BATCH):
            batch = edges[start : start + REMOVE_BATCH]
            try:
                await self._remove_edges(batch)
            except (NotFound, Conflict):
                for edge in batch:
                    with suppress(NotFound):
                        await retry_if_stale(partial(self._remove_edges, [edge]))

    async def _remove_edges(self, edges: Sequence[Edge]) -> None:
        """Deletes memberships, subtracts them from the member counts and removes them from the embedded edges."""
        group_counts, user_ids = Counter(group for group, _ in edges), {user for _, user in edges}
        await self.table.write(
            *(delete(memberships, _key(edge), when=present(), on_failure=MEMBERSHIP_NOT_FOUND) for edge in edges),
            *(
                update_attributes(
                    groups,
                    {"id": group},
                    UpdateExpression(adds={("memberCount",): -count}) | _without(_members(edges, group)),
                )
                for group, count in group_counts.items()
            ),
            *(update_attributes(members, {"id": member}, _without(_groups(edges, member))) for member in user_ids),
            note=ActivityNote("member.removed", edges[0][0], {"before": {"userIds": sorted(user_ids)}}),
        )

    async def _group_and_member(self, group_id: GroupId, user_id: MemberId) -> tuple[Group, Member]:
        group, member = await asyncio.gather(
            self.table.find(group_by_id, id=group_id), self.table.find(member_by_id, id=user_id)
        )
        if group is None or not is_alive(group):
            raise GROUP_NOT_FOUND()
        if member is None or not is_alive(member):
            raise USER_NOT_FOUND()
        return group, member


def _update_group(group_id: GroupId, change: UpdateExpression, embedded: EmbeddedEdges) -> Write[Any]:
    return update_attributes(groups, {"id": group_id}, change, when=_is_unchanged(embedded))


def _update_member(user_id: MemberId, change: UpdateExpression, embedded: EmbeddedEdges) -> Write[Any]:
    return update_attributes(members, {"id": user_id}, change, when=_is_unchanged(embedded))


def _is_unchanged(embedded: EmbeddedEdges) -> Condition:
    """Returns the condition that the user or group is not deleted and its embedded edges are as they were read."""
    return absent("deletedAt") & embedded.unchanged_condition()


def _embedded(group: Group) -> EmbeddedEdges:
    if group.embedded_edges is None:
        raise Internal("a group that was read from the table has no embedded edges")
    return group.embedded_edges


def _key(edge: Edge) -> dict[str, object]:
    return {"group_id": edge[0], "user_id": edge[1]}


def _members(edges: Sequence[Edge], group: GroupId) -> list[str]:
    return [user_id for group_id, user_id in edges if group_id == group]


def _groups(edges: Sequence[Edge], member: MemberId) -> list[str]:
    return [group_id for group_id, user_id in edges if user_id == member]


def _without(children: Sequence[str]) -> UpdateExpression:
    return reduce(or_, (remove_edge(child) for child in children))
