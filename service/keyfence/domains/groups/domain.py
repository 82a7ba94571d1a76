"""Registers groups and memberships."""

from keyfence.domain import Domain
from keyfence.domains.groups import access_patterns
from keyfence.domains.groups.graphql import Group, GroupMutations, GroupQueries, MembershipMutations, load_group

DOMAIN = Domain(
    name="groups",
    access_patterns=(access_patterns,),
    queries=(GroupQueries,),
    mutations=(GroupMutations, MembershipMutations),
    types=(Group,),
    nodes={"grp": load_group},
    depends_on=("users",),
)
