"""Demo data: two tenants that are worth looking at, loaded once."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from iam.boundary import TenantId, tenant_id
from service.auth.role import Role
from service.domains.groups.access import groups
from service.domains.groups.memberships import Memberships
from service.domains.groups.model import Group, GroupId, GroupRole, MemberId
from service.domains.users.access import email_claims, users
from service.domains.users.model import EmailClaim, User, UserId
from service.errors import Conflict
from service.local.people import TENANTS, DemoTenant
from service.store.expression import absent
from service.store.head import Head
from service.store.table import Table
from service.store.tables import Tables
from service.store.write import put
from service.tenancy.model import Tenant, Tier
from service.tenancy.registry import Registry


async def load_demo(tables: Tables, tell: Callable[[str], None]) -> None:
    """A tenant's registration comes last, so that an interrupted load is done again and a finished one never."""
    registry = Registry(tables.control())
    for name, demo in TENANTS.items():
        tenant = tenant_id(name)
        if await registry.find(tenant) is None:
            tell(f"loading the demo tenant {name}")
            await _load(tables.tenant(tenant, writes=True), demo)
            await registry.register(_tenant(tenant, demo))


async def _load(table: Table, demo: DemoTenant) -> None:
    for person in demo.people:
        user = _user(demo, person)
        claim = EmailClaim(email=user.email, user_id=user.id, created_at=user.created_at, updated_at=user.created_at)
        with suppress(Conflict):
            await table.write(put(users, user, when=absent()), put(email_claims, claim))
    for name in demo.groups:
        with suppress(Conflict):
            await table.write(put(groups, _group(demo, name), when=absent()))
        await _seat(table, demo, name)


async def _seat(table: Table, demo: DemoTenant, group: str) -> None:
    memberships = Memberships(table)
    for place, person in enumerate(demo.groups[group]):
        role = GroupRole.MANAGER if place == 0 else GroupRole.MEMBER
        with suppress(Conflict):
            await memberships.add(_group(demo, group).id, MemberId(demo.user_id(person)), role)


def _user(demo: DemoTenant, person: str) -> User:
    came = demo.arrival(person)
    role = {0: Role.OWNER, 1: Role.ADMIN}.get(demo.people.index(person), Role.MEMBER)
    return User(
        id=UserId(demo.user_id(person)),
        email=demo.email(person),
        name=person,
        role=role,
        created_at=came,
        updated_at=came,
        head=Head(),
    )


def _group(demo: DemoTenant, name: str) -> Group:
    made = demo.arrival(demo.people[0]) + timedelta(hours=1 + list(demo.groups).index(name))
    return Group(id=GroupId(demo.id_of("grp", name, made)), name=name, created_at=made, updated_at=made, head=Head())


def _tenant(id: TenantId, demo: DemoTenant) -> Tenant:
    made = demo.arrival(demo.people[0])
    return Tenant(id=id, name=demo.name, tier=Tier(demo.tier), created_at=made, updated_at=made)
