"""Who is in which group: edges that are one item each, with a copy at the head of either end."""

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
from keyfence.store.pagination import Page, check_page_size
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
MadeEdge = Callable[[str, EdgeAttributes], Membership]

CHUNK = 24
ROUNDS = 50
ALREADY = partial(Conflict, "the user is a member of the group already")
NO_GROUP = partial(NotFound, "no such group")
NO_USER = partial(NotFound, "no such user")
NO_MEMBER = partial(NotFound, "the user is not a member of the group")


@dataclass(frozen=True, slots=True)
class MembershipRepository:
    """Edges between users and groups, from both sides."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def of_user(self, user_id: str, head: EmbeddedEdges, *, first: int, after: str | None) -> Page[Membership]:
        edge = partial(Membership.from_attributes, user_id)
        return await self._page(groups_of_user, head, edge, first, after, user_id=user_id)

    async def of_group(self, group_id: str, head: EmbeddedEdges, *, first: int, after: str | None) -> Page[Membership]:
        def edge(user_id: str, attributes: EdgeAttributes) -> Membership:
            return Membership.from_attributes(user_id, group_id, attributes)

        return await self._page(members_of_group, head, edge, first, after, group_id=group_id)

    async def _page(
        self, pattern: Query[Membership], head: EmbeddedEdges, edge: MadeEdge, first: int, after: str | None, **end: str
    ) -> Page[Membership]:
        """Out of the head where it knows enough, otherwise out of the table."""
        known = head.first(check_page_size(first) + 1) if after is None else None
        if known is None:
            return await self.table.page(pattern, first=first, after=after, between=None, **end)
        nodes = [edge(child, attributes) for child, attributes in known[:first]]
        return self.table.page_of(pattern, nodes, has_next=len(known) > first, has_previous=False, **end)

    def placed(self, edge: Membership) -> StoreEdge[Membership]:
        """An edge that is in hand, with its place among the group's members."""
        alone = self.table.page_of(members_of_group, [edge], has_next=False, has_previous=False, group_id=edge.group_id)
        return alone.edges[0]

    async def add(self, group_id: GroupId, user_id: MemberId, role: GroupRole) -> Membership:
        return await retry_if_stale(lambda: self._add(group_id, user_id, role))

    async def _add(self, group_id: GroupId, user_id: MemberId, role: GroupRole) -> Membership:
        group, member = await self._ends(group_id, user_id)
        now = self.now()
        edge = Membership(user_id=user_id, group_id=group_id, role=role, created_at=now, updated_at=now)
        counted = UpdateExpression(adds={("memberCount",): 1})
        await self.table.write(
            put(memberships, edge, when=absent(), on_failure=ALREADY),
            _at_group(group_id, counted | _head(group).add(user_id, edge.attributes), _head(group)),
            _at_member(user_id, member.embedded_edges.add(group_id, edge.attributes), member.embedded_edges),
            note=ActivityNote("member.added", group_id, {"after": {"userId": user_id, "role": role}}),
        )
        return edge

    async def change(self, group_id: GroupId, user_id: MemberId, role: GroupRole) -> Membership:
        return await retry_if_stale(lambda: self._change(group_id, user_id, role))

    async def _change(self, group_id: GroupId, user_id: MemberId, role: GroupRole) -> Membership:
        """The edge is read before its ends, whose heads then have it, and must be the same edge when it is written."""
        before = await self.table.find(membership_of_user, user_id=user_id, group_id=group_id)
        group, member = await self._ends(group_id, user_id)
        if before is None:
            raise NO_MEMBER()
        after = replace(before, role=role, updated_at=self.now(), version=before.version + 1)
        await self.table.write(
            update_model(memberships, before, after, when=equals("createdAt", before.created_at)),
            _at_group(group_id, _head(group).change(user_id, after.attributes), _head(group)),
            _at_member(user_id, member.embedded_edges.change(group_id, after.attributes), member.embedded_edges),
            note=ActivityNote(
                "member.changed", group_id, {"of": {"userId": user_id}, **changed_fields(before, after, "role")}
            ),
        )
        return after

    async def remove(self, group_id: GroupId, user_id: MemberId) -> bool:
        """False when the user was not a member."""
        await self._ends(group_id, user_id)
        try:
            await self._remove_edges([(group_id, user_id)])
        except NotFound:
            return False
        return True

    async def remove_user(self, user_id: MemberId) -> None:
        """Take a user out of every group. What an interruption leaves is found by the next call."""
        edges = [(edge.group_id, user_id) async for edge in self.table.iterate_shards(groups_of_user, user_id=user_id)]
        await self._sever_all(edges)

    async def clear_group(self, group_id: GroupId) -> None:
        """Take everybody out of a group. The index may lag and the count may not, so the count says when it is done."""
        for pause in range(ROUNDS):
            group = await self.table.find(group_by_id, id=group_id)
            if group is None or group.member_count == 0:
                return
            edges = [
                (group_id, edge.user_id)
                async for edge in self.table.iterate_shards(members_of_group, group_id=group_id)
            ]
            await self._sever_all(edges)
            await asyncio.sleep(0 if edges else 0.02 * pause)
        raise Throttled("the group's members are still being removed; delete it again to go on", retryAfterMs=1000)

    async def _sever_all(self, edges: Sequence[Edge]) -> None:
        for start in range(0, len(edges), CHUNK):
            chunk = edges[start : start + CHUNK]
            try:
                await self._remove_edges(chunk)
            except (NotFound, Conflict):
                for edge in chunk:
                    with suppress(NotFound):
                        await retry_if_stale(partial(self._remove_edges, [edge]))

    async def _remove_edges(self, edges: Sequence[Edge]) -> None:
        """Remove edges together with their counts and their copies at both ends."""
        in_group, of_member = Counter(group for group, _ in edges), {member for _, member in edges}
        await self.table.write(
            *(delete(memberships, _key(edge), when=present(), on_failure=NO_MEMBER) for edge in edges),
            *(
                update_attributes(
                    groups,
                    {"id": group},
                    UpdateExpression(adds={("memberCount",): -count}) | _without(_members(edges, group)),
                )
                for group, count in in_group.items()
            ),
            *(update_attributes(members, {"id": member}, _without(_groups(edges, member))) for member in of_member),
            note=ActivityNote("member.removed", edges[0][0], {"before": {"userIds": sorted(of_member)}}),
        )

    async def _ends(self, group_id: GroupId, user_id: MemberId) -> tuple[Group, Member]:
        group, member = await asyncio.gather(
            self.table.find(group_by_id, id=group_id), self.table.find(member_by_id, id=user_id)
        )
        if group is None or not is_alive(group):
            raise NO_GROUP()
        if member is None or not is_alive(member):
            raise NO_USER()
        return group, member


def _at_group(group_id: GroupId, what: UpdateExpression, head: EmbeddedEdges) -> Write[Any]:
    return update_attributes(groups, {"id": group_id}, what, when=_still(head))


def _at_member(user_id: MemberId, what: UpdateExpression, head: EmbeddedEdges) -> Write[Any]:
    return update_attributes(members, {"id": user_id}, what, when=_still(head))


def _still(head: EmbeddedEdges) -> Condition:
    """The end is alive and its head is as it was read; if not, a fresh read tells what is wrong."""
    return absent("deletedAt") & head.is_unchanged()


def _head(group: Group) -> EmbeddedEdges:
    if group.embedded_edges is None:
        raise Internal("a group that is read whole has a head")
    return group.embedded_edges


def _key(edge: Edge) -> dict[str, object]:
    return {"group_id": edge[0], "user_id": edge[1]}


def _members(edges: Sequence[Edge], group: GroupId) -> list[str]:
    return [member for of, member in edges if of == group]


def _groups(edges: Sequence[Edge], member: MemberId) -> list[str]:
    return [group for group, of in edges if of == member]


def _without(children: Sequence[str]) -> UpdateExpression:
    return reduce(or_, (remove_edge(child) for child in children))
