"""Demo data: two tenants that are worth looking at, loaded once."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from keyfence.auth.role import Role
from keyfence.development import LOCAL_ISSUER
from keyfence.domains.groups.access import groups, memberships
from keyfence.domains.groups.model import Group, GroupId, GroupRole, MemberId, Membership
from keyfence.domains.users.access import email_claims, user_tallies, users
from keyfence.domains.users.model import EmailClaim, User, UserId, UserTally
from keyfence.local.people import TENANTS, DemoTenant
from keyfence.local.stock import stock
from keyfence.local.trade import Trade
from keyfence.store import clock
from keyfence.store.embedded_edges import Attributes, Head
from keyfence.store.location import Home
from keyfence.store.table import Table
from keyfence.store.tables import Tables
from keyfence.store.write import put
from keyfence.tenancy.lifecycle import TenantStatus
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.quotas import Tier
from keyfence.tenancy.repository import Register
from keyfence_iam.boundary import TenantId, tenant_id

LOADER = "keyfence-dev"


async def load_demo(tables: Tables, tell: Callable[[str], None]) -> None:
    """A tenant's registration comes last, so that an interrupted load is done again and a finished one never."""
    register = Register(tables.control(writes=True), LOADER)
    for name, demo in TENANTS.items():
        tenant = tenant_id(name)
        if await register.find(tenant) is None:
            tell(f"loading the demo tenant {name}")
            table = tables.tenant(Home(tenant=tenant), writes=True)
            await _load(table, demo)
            await stock(table, Trade(demo, clock.now()))
            await register.enter(_tenant(tenant, demo))


async def _load(table: Table, demo: DemoTenant) -> None:
    edges = [_edge(demo, group, person) for group in demo.groups for person in demo.groups[group]]
    members = [_user(demo, person, edges) for person in demo.people]
    await table.write(
        *(put(users, user) for user in members),
        *(put(email_claims, _claim(user)) for user in members),
        put(user_tallies, _tally(members)),
        *(put(groups, _group(demo, name, edges)) for name in demo.groups),
        *(put(memberships, edge) for edge in edges),
    )


def _edge(demo: DemoTenant, group: str, person: str) -> Membership:
    joined = max(_founded(demo, group), demo.arrival(person))
    first = demo.groups[group][0] == person
    return Membership(
        user_id=MemberId(demo.user_id(person)),
        group_id=_group_id(demo, group),
        role=GroupRole.MANAGER if first else GroupRole.MEMBER,
        created_at=joined,
        updated_at=joined,
    )


def _user(demo: DemoTenant, person: str, edges: Sequence[Membership]) -> User:
    id, came = demo.user_id(person), demo.arrival(person)
    role = {0: Role.OWNER, 1: Role.ADMIN}.get(demo.people.index(person), Role.MEMBER)
    return User(
        id=UserId(id),
        email=demo.email(person),
        name=person,
        role=role,
        created_at=came,
        updated_at=came,
        head=Head({edge.group_id: edge.attributes for edge in edges if edge.user_id == id}),
    )


def _claim(user: User) -> EmailClaim:
    return EmailClaim(email=user.email, user_id=user.id, created_at=user.created_at, updated_at=user.created_at)


def _tally(members: Sequence[User]) -> UserTally:
    first = min(user.created_at for user in members)
    return UserTally(total=len(members), created_at=first, updated_at=first, version=len(members))


def _group(demo: DemoTenant, name: str, edges: Sequence[Membership]) -> Group:
    id, founded = _group_id(demo, name), _founded(demo, name)
    entries: dict[str, Attributes] = {edge.user_id: edge.attributes for edge in edges if edge.group_id == id}
    return Group(
        id=id, name=name, created_at=founded, updated_at=founded, member_count=len(entries), head=Head(entries)
    )


def _group_id(demo: DemoTenant, name: str) -> GroupId:
    return GroupId(demo.id_of("grp", name, _founded(demo, name)))


def _founded(demo: DemoTenant, name: str) -> datetime:
    return demo.arrival(demo.people[0]) + timedelta(hours=1 + list(demo.groups).index(name))


def _tenant(id: TenantId, demo: DemoTenant) -> Tenant:
    made = demo.arrival(demo.people[0])
    return Tenant(
        id=id,
        name=demo.name,
        tier=Tier(demo.tier),
        status=TenantStatus.ACTIVE,
        issuer=LOCAL_ISSUER,
        owner_id=demo.owner,
        created_at=made,
        updated_at=made,
    )
