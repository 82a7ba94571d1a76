"""Users stay consistent under concurrent changes: emails are unique, and deletions are complete."""

import asyncio
from dataclasses import replace

import pytest

from keyfence.auth.principal import Role
from keyfence.domains.users.access_patterns import email_claims, setting_by_name, user_counts
from keyfence.domains.users.model import MAX_SETTINGS, User, UserId
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import BadInput, Conflict, NotFound, QuotaExceeded
from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack


@pytest.fixture
def users(stack: ServiceStack, tenant: TenantId) -> UserRepository:
    return UserRepository(stack.table(tenant))


def allow_everybody(_: User) -> None:
    """Raises nothing: everybody may make the change."""


async def create_user(users: UserRepository, email: str = "ada@x.example") -> User:
    return await users.create(email=email, name="Ada", role=Role.MEMBER)


async def number(users: UserRepository) -> int:
    user_count = await users.table.find(user_counts.get())
    return user_count.total if user_count else 0


async def test_of_concurrent_creates_with_one_email_exactly_one_wins(users: UserRepository) -> None:
    outcomes = await asyncio.gather(*(create_user(users) for _ in range(12)), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict"] * 11 + ["User"]
    assert len((await users.newest(first=10, after=None)).items) == 1


async def test_of_concurrent_updates_with_one_expected_version_exactly_one_wins(users: UserRepository) -> None:
    user = await create_user(users)
    updates = (users.update(user.id, expected_version=1, authorize=allow_everybody, name=f"N{n}") for n in range(10))
    outcomes = await asyncio.gather(*updates, return_exceptions=True)
    winners = [outcome for outcome in outcomes if isinstance(outcome, User)]
    assert len(winners) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 9
    stored = await users.get(user.id)
    assert (stored.version, stored.name) == (2, winners[0].name)


async def test_updates_without_an_expected_version_all_succeed(users: UserRepository) -> None:
    user = await create_user(users)
    await asyncio.gather(*(users.update(user.id, authorize=allow_everybody, name=f"N{n}") for n in range(3)))
    assert (await users.get(user.id)).version == 4


async def test_a_changed_email_frees_the_old_one_and_claims_the_new(users: UserRepository) -> None:
    user = await create_user(users)
    await users.update(user.id, authorize=allow_everybody, email="new@x.example")
    assert await users.find_by_email("ada@x.example") is None
    assert (found := await users.find_by_email("new@x.example")) is not None
    assert found.id == user.id
    await create_user(users)
    with pytest.raises(Conflict):
        await create_user(users, "new@x.example")


async def test_the_email_of_another_user_cannot_be_taken(users: UserRepository) -> None:
    user, other = await create_user(users), await create_user(users, "other@x.example")
    with pytest.raises(Conflict, match="email"):
        await users.update(user.id, authorize=allow_everybody, email=other.email)
    assert (await users.get(user.id)).version == 1


async def test_an_update_that_changes_nothing_writes_nothing(users: UserRepository, stack: ServiceStack) -> None:
    user = await create_user(users)
    stack.take_calls()
    assert (await users.update(user.id, authorize=allow_everybody, name="Ada")).version == 1
    assert [call.operation for call in stack.take_calls()] == ["GetItem"]


async def test_deleting_a_user_deletes_its_settings_and_frees_its_email(users: UserRepository) -> None:
    user = await create_user(users)
    for number in range(30):
        await users.put_setting(user.id, f"s{number}", number)
    await users.begin_delete(user.id, authorize=allow_everybody)
    await users.finish_delete(user.id)
    assert await users.find(user.id) is None
    assert await users.table.find(setting_by_name, user_id=user.id, name="s7") is None
    assert await users.table.find(email_claims.get(), email=user.email) is None
    await create_user(users)


async def test_a_user_whose_deletion_was_interrupted_is_not_found_and_can_be_deleted_again(
    users: UserRepository,
) -> None:
    user = await create_user(users)
    await users.begin_delete(user.id, authorize=allow_everybody)
    assert await users.find(user.id) is None
    assert await users.find_by_email(user.email) is None
    assert (await users.newest(first=10, after=None)).items == ()
    with pytest.raises(NotFound):
        await users.put_setting(user.id, "theme", "dark")
    await users.begin_delete(user.id, authorize=allow_everybody)
    await users.finish_delete(user.id)
    with pytest.raises(NotFound):
        await users.begin_delete(user.id, authorize=allow_everybody)


async def test_settings_keep_their_json_exactly(users: UserRepository) -> None:
    user = await create_user(users)
    value = {"n": 0.1, "big": 2**53 + 1, "none": None, "list": [1, "é", {"deep": True}], "": ""}
    await users.put_setting(user.id, "prefs # %", value)
    await users.put_setting(user.id, "prefs # %", value)
    ((setting,),) = await users.settings_of([await users.get(user.id)])
    assert (setting.name, setting.version) == ("prefs # %", 2)
    import orjson

    assert orjson.loads(setting.text) == value


async def test_settings_are_limited_in_number_and_size(users: UserRepository) -> None:
    user = await create_user(users)
    for number in range(MAX_SETTINGS):
        await users.put_setting(user.id, f"s{number}", number)
    with pytest.raises(BadInput, match="at most"):
        await users.put_setting(user.id, "one-more", 1)
    await users.put_setting(user.id, "s0", "still changes")
    with pytest.raises(BadInput, match="bytes"):
        await users.put_setting(user.id, "s1", "x" * 5_000)


@pytest.mark.parametrize("size", [1, 7, 100])
async def test_newest_users_page_to_the_end_newest_first(users: UserRepository, size: int) -> None:
    created = [await create_user(users, f"{number}@x.example") for number in range(15)]
    found: list[str] = []
    after = None
    while True:
        page = await users.newest(first=size, after=after)
        found += [user.id for user in page.items]
        if not page.has_next:
            break
        after = page.edges[-1].cursor()
    assert found == [user.id for user in reversed(created)]


async def test_one_email_may_be_in_two_tenants(stack: ServiceStack) -> None:
    for _ in range(2):
        await create_user(UserRepository(stack.table(await stack.new_tenant())))


async def test_users_of_another_tenant_are_not_found(stack: ServiceStack) -> None:
    short_id, long_id = await stack.new_tenant("acme"), await stack.new_tenant("acmecorp")
    user = await create_user(UserRepository(stack.table(long_id)))
    other_tenant = UserRepository(stack.table(short_id))
    assert await other_tenant.find(user.id) is None
    assert await other_tenant.find_by_email(user.email) is None
    assert (await other_tenant.newest(first=10, after=None)).items == ()


async def test_settings_that_are_put_concurrently_stay_within_their_limit(users: UserRepository) -> None:
    user = await create_user(users)
    for number in range(MAX_SETTINGS - 3):
        await users.put_setting(user.id, f"s{number}", number)
    puts = (users.put_setting(user.id, f"late{number}", number) for number in range(8))
    outcomes = await asyncio.gather(*puts, return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["BadInput"] * 5 + ["Setting"] * 3
    assert len((await users.get(user.id)).setting_names) == MAX_SETTINGS


class UserDeletedMeanwhile(UserRepository):
    """Another user deletes the user after this repository has read it and before it writes."""

    __slots__ = ()

    async def get(self, id: UserId) -> User:
        user = await super().get(id)
        await UserRepository(self.table).begin_delete(id, authorize=allow_everybody)
        return user


async def test_a_user_deleted_while_a_setting_is_put_keeps_no_setting(users: UserRepository) -> None:
    user = await create_user(users)
    with pytest.raises(NotFound):
        await UserDeletedMeanwhile(users.table).put_setting(user.id, "theme", "dark")
    assert await users.table.find(setting_by_name, user_id=user.id, name="theme") is None


@pytest.mark.parametrize("value", [2**70, float("inf"), float("nan"), object()], ids=["wide", "inf", "nan", "object"])
async def test_a_setting_that_is_not_json_is_refused(users: UserRepository, value: object) -> None:
    user = await create_user(users)
    with pytest.raises(BadInput, match="JSON"):
        await users.put_setting(user.id, "x", value)


async def test_users_are_counted_when_they_are_created_and_deleted(users: UserRepository) -> None:
    created = [await create_user(users, f"{number}@x.example") for number in range(3)]
    with pytest.raises(Conflict):
        await create_user(users, "0@x.example")
    assert await number(users) == 3
    await users.begin_delete(created[0].id, authorize=allow_everybody)
    await users.begin_delete(created[0].id, authorize=allow_everybody)
    assert await number(users) == 2
    await users.finish_delete(created[0].id)
    with pytest.raises(NotFound):
        await users.begin_delete(created[0].id, authorize=allow_everybody)
    assert await number(users) == 2


async def test_of_concurrent_creates_exactly_the_quota_succeed_and_the_others_raise_quota_exceeded(
    users: UserRepository,
) -> None:
    limited_users = replace(users, quota=5)
    creates = (create_user(limited_users, f"{number}@x.example") for number in range(20))
    outcomes = await asyncio.gather(*creates, return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["QuotaExceeded"] * 15 + ["User"] * 5
    assert len((await users.newest(first=50, after=None)).items) == await number(users) == 5


async def test_deleting_a_user_makes_room_and_a_lower_quota_deletes_no_user(users: UserRepository) -> None:
    limited_users = replace(users, quota=2)
    first = await create_user(limited_users, "1@x.example")
    await create_user(limited_users, "2@x.example")
    with pytest.raises(QuotaExceeded, match="2 users") as raised:
        await create_user(limited_users, "3@x.example")
    assert raised.value.extensions == {"quota": "users"}
    await limited_users.begin_delete(first.id, authorize=allow_everybody)
    await create_user(limited_users, "3@x.example")
    with pytest.raises(QuotaExceeded):
        await create_user(replace(users, quota=1), "4@x.example")
    assert await number(users) == 2


async def test_a_taken_email_is_reported_before_an_exceeded_quota(users: UserRepository) -> None:
    limited_users = replace(users, quota=1)
    await create_user(limited_users)
    with pytest.raises(Conflict):
        await create_user(limited_users)


async def test_users_of_another_tenant_are_not_counted(stack: ServiceStack) -> None:
    short_id, long_id = await stack.new_tenant("tally"), await stack.new_tenant("tally-1")
    await create_user(UserRepository(stack.table(long_id), quota=1))
    await create_user(UserRepository(stack.table(short_id), quota=1))
    assert [await number(UserRepository(stack.table(one))) for one in (short_id, long_id)] == [1, 1]
