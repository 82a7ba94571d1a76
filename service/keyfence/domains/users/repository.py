"""`UserRepository`: reads and writes the users of one tenant and their settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import orjson

from keyfence.auth.principal import Role
from keyfence.domains.users.access_patterns import (
    email_claims,
    newest_users,
    setting_by_name,
    settings,
    settings_of_user,
    user_by_email,
    user_by_id,
    user_counts,
    users,
)
from keyfence.domains.users.model import (
    MAX_SETTING_BYTES,
    MAX_SETTING_NAME_LENGTH,
    MAX_SETTINGS,
    EmailClaim,
    Setting,
    User,
    UserCount,
    UserId,
    checked_name,
    is_alive,
)
from keyfence.email_address import checked_email, email_key
from keyfence.errors import BadInput, Conflict, NotFound, QuotaExceeded
from keyfence.store import timestamps
from keyfence.store.embedded_edges import EmbeddedEdges
from keyfence.store.expressions import UpdateExpression, absent, number_below, size_below
from keyfence.store.ids import checked_id, new_id
from keyfence.store.pagination import Page
from keyfence.store.table import Table
from keyfence.store.writes import (
    ActivityNote,
    Write,
    changed_fields,
    delete,
    increment,
    put,
    require_version,
    retry_if_stale,
    update_attributes,
    update_model,
)
from keyfence.validation import checked_line

USER_NOT_FOUND = partial(NotFound, "no such user")
EMAIL_TAKEN = partial(Conflict, "another user has this email", field="email")
_CHECKS_BY_FIELD: dict[str, Callable[[Any], Any]] = {"email": checked_email, "name": checked_name, "role": Role}


def checked_user_id(text: str, field: str = "id") -> UserId:
    return UserId(checked_id("usr", text, field))


@dataclass(frozen=True, slots=True)
class UserRepository:
    """The users of the tenant that the table belongs to."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now
    quota: int | None = None
    """The largest number of users that the tenant may have. None sets no limit."""

    async def find(self, id: UserId) -> User | None:
        user = await self.table.find(user_by_id, id=id)
        return user if user and is_alive(user) else None

    async def get(self, id: UserId) -> User:
        if (user := await self.find(id)) is None:
            raise USER_NOT_FOUND()
        return user

    async def find_many(self, ids: Sequence[UserId]) -> list[User | None]:
        found = await self.table.find_many(user_by_id, [{"id": id} for id in ids])
        return [user if user and is_alive(user) else None for user in found]

    async def find_by_email(self, email: str) -> User | None:
        return await self.table.find_first(user_by_email, email=checked_email(email))

    async def newest(self, *, first: int, after: str | None) -> Page[User]:
        return await self.table.page(newest_users, first=first, after=after)

    async def create(self, *, email: str, name: str, role: Role, id: UserId | None = None) -> User:
        now = self.now()
        user = User(
            id=id or UserId(new_id("usr")),
            email=checked_email(email),
            name=checked_name(name),
            role=role,
            created_at=now,
            updated_at=now,
            embedded_edges=EmbeddedEdges(),
        )
        note = ActivityNote("user.created", user.id, {"after": {"email": email, "name": name, "role": role}})
        await self.table.write(
            put(users, user, when=absent()), self._claim_email(user), self._add_to_count(1), note=note
        )
        return user

    async def update(
        self, id: UserId, *, expected_version: int | None = None, authorize: Callable[[User], None], **changes: Any
    ) -> User:
        """Changes a user. `authorize` receives the stored user, and raises if the caller may not change that user."""
        return await retry_if_stale(lambda: self._update(id, expected_version, authorize, changes))

    async def _update(
        self, id: UserId, expected_version: int | None, authorize: Callable[[User], None], changes: dict[str, Any]
    ) -> User:
        before = await self.get(id)
        authorize(before)
        require_version(before, expected_version, "user")
        after = self._with_changes(before, changes)
        if after != before:
            note = ActivityNote("user.updated", id, changed_fields(before, after, "email", "name", "role"))
            await self.table.write(
                update_model(users, before, after), *self._change_email_claim(before, after), note=note
            )
        return after

    def _with_changes(self, before: User, changes: dict[str, Any]) -> User:
        """Returns the user with the new values and the next version, or unchanged if all values are the same."""
        checked = {name: _CHECKS_BY_FIELD[name](value) for name, value in changes.items()}
        after = replace(before, **checked)
        return after if after == before else replace(after, version=before.version + 1, updated_at=self.now())

    def _add_to_count(self, number: int) -> Write[Any]:
        """Returns the write that adds to the number of users. It fails if the quota is used up."""
        initial = UserCount(created_at=self.now(), updated_at=self.now())
        is_below_quota = number_below(self.quota, "total") if number > 0 and self.quota is not None else None
        return increment(user_counts, initial, "total", number, when=is_below_quota, on_failure=self._quota_exceeded)

    def _quota_exceeded(self) -> QuotaExceeded:
        return QuotaExceeded(f"the tenant's quota of {self.quota:,} users is used up", quota="users")

    def _claim_email(self, user: User) -> Write[Any]:
        email = email_key(user.email)
        claim = EmailClaim(email=email, user_id=user.id, created_at=user.updated_at, updated_at=user.updated_at)
        return put(email_claims, claim, when=absent(), on_failure=EMAIL_TAKEN)

    def _change_email_claim(self, before: User, after: User) -> list[Write[Any]]:
        if email_key(before.email) == email_key(after.email):
            return []
        return [delete(email_claims, {"email": before.email}), self._claim_email(after)]

    async def begin_delete(
        self, id: UserId, *, authorize: Callable[[User], None], also_write: Callable[[], Write[Any]] | None = None
    ) -> None:
        """Marks the user as deleted. Then no query returns the user, and another user can have the email.

        The write that `also_write` returns is made in the same transaction. Remove the memberships next, then call
        `finish_delete`. All steps can be repeated after a failure."""
        await retry_if_stale(lambda: self._begin_delete(id, authorize, also_write))

    async def _begin_delete(
        self, id: UserId, authorize: Callable[[User], None], also_write: Callable[[], Write[Any]] | None
    ) -> None:
        user = await self.table.find(user_by_id, id=id)
        if user is None:
            raise USER_NOT_FOUND()
        if is_alive(user):
            authorize(user)
            deleted = replace(user, deleted_at=self.now(), updated_at=self.now(), version=user.version + 1)
            note = ActivityNote(
                "user.deleted", id, {"before": {"email": user.email, "name": user.name, "role": user.role}}
            )
            free_email = delete(email_claims, {"email": user.email})
            other_writes = [also_write()] if also_write else []
            await self.table.write(
                update_model(users, user, deleted), free_email, self._add_to_count(-1), *other_writes, note=note
            )

    async def finish_delete(self, id: UserId) -> None:
        """Deletes the settings of the user, and then the user's item."""
        names = [setting.name async for setting in self.table.iterate_shards(settings_of_user, user_id=id)]
        await self.table.delete_many(setting_by_name, [{"user_id": id, "name": name} for name in names])
        await self.table.write(delete(users, {"id": id}))

    async def settings_of(self, users: Sequence[User]) -> list[list[Setting]]:
        """Returns the settings of each user, sorted by name. Reads all of them in one batch."""
        keys = [{"user_id": user.id, "name": name} for user in users for name in sorted(user.setting_names)]
        found = await self.table.find_many(setting_by_name, keys) if keys else []
        return [[setting for setting in found if setting and setting.user_id == user.id] for user in users]

    async def put_setting(self, id: UserId, name: str, value: object) -> Setting:
        checked_line(name, "name", MAX_SETTING_NAME_LENGTH)
        text = _json_text(value)
        return await retry_if_stale(lambda: self._put_setting(id, name, text))

    async def _put_setting(self, id: UserId, name: str, text: str) -> Setting:
        user, before = await self.get(id), await self.table.find(setting_by_name, user_id=id, name=name)
        if name not in user.setting_names and len(user.setting_names) >= MAX_SETTINGS:
            raise BadInput(f"a user has at most {MAX_SETTINGS} settings", field="name")
        now = self.now()
        if before is None:
            after = Setting(user_id=id, name=name, text=text, created_at=now, updated_at=now)
            write = put(settings, after, when=absent())
        else:
            after = replace(before, text=text, updated_at=now, version=before.version + 1)
            write = update_model(settings, before, after)
        is_not_deleted = absent("deletedAt")
        condition = is_not_deleted if before else is_not_deleted & size_below(MAX_SETTINGS, "settingNames")
        add_name = UpdateExpression(adds={("settingNames",): frozenset({name})})
        note = ActivityNote("setting.put", id, {"after": {"name": name}})
        await self.table.write(write, update_attributes(users, {"id": id}, add_name, when=condition), note=note)
        return after


def _json_text(value: object) -> str:
    """Returns the value as JSON. Raises BadInput if the value is too large, or if JSON cannot represent it exactly."""
    try:
        text = orjson.dumps(value)
        is_lossless = orjson.loads(text) == value
    except (TypeError, orjson.JSONDecodeError, RecursionError):
        text, is_lossless = b"", False
    if not is_lossless:
        raise BadInput("value must be JSON, with numbers of at most 64 bits and without deep nesting", field="value")
    if len(text) > MAX_SETTING_BYTES:
        raise BadInput(f"value must be at most {MAX_SETTING_BYTES} bytes of JSON", field="value")
    return text.decode()
