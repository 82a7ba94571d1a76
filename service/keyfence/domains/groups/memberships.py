"""`MembershipRepository`: reads and writes memberships.

A membership is an item of its own. The items of its user and of its group also embed it as an edge, so that the first
page of members or groups needs no Query."""

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
from keyfence.store.pagination import Edge, Page, checked_page_size
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES, Table
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

GroupAndUser = tuple[GroupId, MemberId]
ToMembership = Callable[[str, EdgeAttributes], Membership]
"""A function that returns a membership. It receives the id of the group or user that an embedded edge leads to, and the
attributes of the edge."""

REMOVE_BATCH = (MAX_SPLIT_TRANSACTION_WRITES - 2) // 2
"""How many memberships of one user or of one group a transaction removes. Each needs two writes. Two more writes are
the user or the group, and the activity note."""
MAX_ROUNDS = 50
"""How often the index is read, at most, until all members are removed."""
ALREADY_MEMBER = partial(Conflict, "the user is a member of the group already")
GROUP_NOT_FOUND = partial(NotFound, "no such group")
USER_NOT_FOUND = partial(NotFound, "no such user")
MEMBERSHIP_NOT_FOUND = partial(NotFound, "the user is not a member of the group")


@dataclass(frozen=True, slots=True)
class MembershipRepository:
    """The memberships of the tenant that the table belongs to."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def of_user(
        self, user_id: str, embedded_edges: EmbeddedEdges, *, first: int, after: str | None
    ) -> Page[Membership]:
        to_membership = partial(Membership.from_attributes, user_id)
        return await self._page(groups_of_user, embedded_edges, to_membership, first, after, user_id=user_id)

    async def of_group(
        self, group_id: str, embedded_edges: EmbeddedEdges, *, first: int, after: str | None
    ) -> Page[Membership]:
        def to_membership(user_id: str, attributes: EdgeAttributes) -> Membership:
            return Membership.from_attributes(user_id, group_id, attributes)

        return await self._page(members_of_group, embedded_edges, to_membership, first, after, group_id=group_id)

    async def _page(
        self,
        pattern: Query[Membership],
        embedded_edges: EmbeddedEdges,
        to_membership: ToMembership,
        first: int,
        after: str | None,
        **parent: str,
    ) -> Page[Membership]:
        """Returns the page from the embedded edges if there are enough of them. Otherwise queries the table.

        Asks for one edge more than the page has, to find out whether there is a next page."""
        edges = embedded_edges.first(checked_page_size(first) + 1) if after is None else None
        if edges is None:
            return await self.table.page(pattern, first=first, after=after, between=None, **parent)
        nodes = [to_membership(child, attributes) for child, attributes in edges[:first]]
        return self.table.page_from_models(pattern, nodes, has_next=len(edges) > first, has_previous=False, **parent)

    def with_cursor(self, membership: Membership) -> Edge[Membership]:
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
        membership = Membership(user_id=user_id, group_id=group_id, role=role, created_at=now, updated_at=now)
        add_to_count = UpdateExpression(adds={("memberCount",): 1})
        group_edges, member_edges = _edges_of_group(group), member.embedded_edges
        await self.table.write(
            put(memberships, membership, when=absent(), on_failure=ALREADY_MEMBER),
            _update_group(group_id, add_to_count | group_edges.add(user_id, membership.attributes), group_edges),
            _update_member(user_id, member_edges.add(group_id, membership.attributes), member_edges),
            note=ActivityNote("member.added", group_id, {"after": {"userId": user_id, "role": role}}),
        )
        return membership

    async def change(self, group_id: GroupId, user_id: MemberId, role: GroupRole) -> Membership:
        return await retry_if_stale(lambda: self._change(group_id, user_id, role))

    async def _change(self, group_id: GroupId, user_id: MemberId, role: GroupRole) -> Membership:
        """Reads the membership before the group and the user, so that their embedded edges contain the membership.

        The write requires the same creation time, so that it fails if the user has left and joined again meanwhile."""
        before = await self.table.find(membership_of_user, user_id=user_id, group_id=group_id)
        group, member = await self._group_and_member(group_id, user_id)
        if before is None:
            raise MEMBERSHIP_NOT_FOUND()
        after = replace(before, role=role, updated_at=self.now(), version=before.version + 1)
        group_edges, member_edges = _edges_of_group(group), member.embedded_edges
        await self.table.write(
            update_model(memberships, before, after, when=equals("createdAt", before.created_at)),
            _update_group(group_id, group_edges.change(user_id, after.attributes), group_edges),
            _update_member(user_id, member_edges.change(group_id, after.attributes), member_edges),
            note=ActivityNote(
                "member.changed", group_id, {"of": {"userId": user_id}, **changed_fields(before, after, "role")}
            ),
        )
        return after

    async def remove(self, group_id: GroupId, user_id: MemberId) -> bool:
        """Removes a user from a group. Returns False if the user was not a member."""
        await self._group_and_member(group_id, user_id)
        try:
            await self._remove_memberships([(group_id, user_id)])
        except NotFound:
            return False
        return True

    async def remove_user(self, user_id: MemberId) -> None:
        """Removes a user from every group. Can be repeated after a failure."""
        user_memberships = self.table.iterate_shards(groups_of_user, user_id=user_id)
        await self._remove_in_batches([(membership.group_id, user_id) async for membership in user_memberships])

    async def clear_group(self, group_id: GroupId) -> None:
        """Removes all members of a group.

        Repeats until the member count is 0, because the index that lists the members is eventually consistent."""
        for attempt in range(MAX_ROUNDS):
            group = await self.table.find(group_by_id, id=group_id)
            if group is None or group.member_count == 0:
                return
            group_memberships = self.table.iterate_shards(members_of_group, group_id=group_id)
            pairs = [(group_id, membership.user_id) async for membership in group_memberships]
            await self._remove_in_batches(pairs)
            await asyncio.sleep(0 if pairs else 0.02 * attempt)
        raise Throttled(
            "the members of the group are still being removed; repeat the request to continue", retryAfterMs=1000
        )

    async def _remove_in_batches(self, pairs: Sequence[GroupAndUser]) -> None:
        """Removes memberships in batches. If a batch fails, removes its memberships one by one."""
        for start in range(0, len(pairs), REMOVE_BATCH):
            batch = pairs[start : start + REMOVE_BATCH]
            try:
                await self._remove_memberships(batch)
            except (NotFound, Conflict):
                for pair in batch:
                    with suppress(NotFound):
                        await retry_if_stale(partial(self._remove_memberships, [pair]))

    async def _remove_memberships(self, pairs: Sequence[GroupAndUser]) -> None:
        """Deletes memberships, subtracts them from the member counts and removes them from the embedded edges."""
        removed_by_group, user_ids = Counter(group for group, _ in pairs), {user for _, user in pairs}
        await self.table.write(
            *(delete(memberships, _key(pair), when=present(), on_failure=MEMBERSHIP_NOT_FOUND) for pair in pairs),
            *(
                update_attributes(
                    groups,
                    {"id": group},
                    UpdateExpression(adds={("memberCount",): -count}) | _remove_edges(_users_of(group, pairs)),
                )
                for group, count in removed_by_group.items()
            ),
            *(update_attributes(members, {"id": user}, _remove_edges(_groups_of(user, pairs))) for user in user_ids),
            note=ActivityNote("member.removed", pairs[0][0], {"before": {"userIds": sorted(user_ids)}}),
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


def _update_group(group_id: GroupId, change: UpdateExpression, embedded_edges: EmbeddedEdges) -> Write[Any]:
    return update_attributes(groups, {"id": group_id}, change, when=_is_unchanged(embedded_edges))


def _update_member(user_id: MemberId, change: UpdateExpression, embedded_edges: EmbeddedEdges) -> Write[Any]:
    return update_attributes(members, {"id": user_id}, change, when=_is_unchanged(embedded_edges))


def _is_unchanged(embedded_edges: EmbeddedEdges) -> Condition:
    """Returns the condition that the user or group is not deleted, and that its embedded edges have not changed."""
    return absent("deletedAt") & embedded_edges.unchanged_condition()


def _edges_of_group(group: Group) -> EmbeddedEdges:
    if group.embedded_edges is None:
        raise Internal("a group that was read from the table has no embedded edges")
    return group.embedded_edges


def _key(pair: GroupAndUser) -> dict[str, object]:
    group_id, user_id = pair
    return {"group_id": group_id, "user_id": user_id}


def _users_of(group: GroupId, pairs: Sequence[GroupAndUser]) -> list[str]:
    return [user_id for group_id, user_id in pairs if group_id == group]


def _groups_of(user: MemberId, pairs: Sequence[GroupAndUser]) -> list[str]:
    return [group_id for group_id, user_id in pairs if user_id == user]


def _remove_edges(children: Sequence[str]) -> UpdateExpression:
    return reduce(or_, (remove_edge(child) for child in children))
