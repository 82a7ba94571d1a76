"""Keys and access patterns of groups and memberships."""

from keyfence.domains.groups.model import Group, Member, Membership, is_alive
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Sharding

groups = entity(
    Group,
    table=TenantKey("GROUP#{id}", "METADATA"),
    gsi2=TenantKey("GROUPS", "{name}#{id}", sharding=Sharding("groups", hashed_field="id"), when=is_alive),
    index_fields=("description",),
)
memberships = entity(
    Membership,
    table=TenantKey("USER#{user_id}", "GROUP#{group_id}"),
    gsi1=TenantKey("GROUP#{group_id}", "USER#{user_id}", sharding=Sharding("group_members", hashed_field="user_id")),
)
members = entity(Member, table=TenantKey("USER#{id}", "PROFILE"))

group_by_id = groups.get()
groups_by_name = groups.query("gsi2")
membership_of_user = memberships.get()
groups_of_user = memberships.query("table", begins_with="GROUP#")
members_of_group = memberships.query("gsi1", begins_with="USER#")
member_by_id = members.get()
