"""`Context`: the caller and the table of one request, with a cache of the objects that resolvers create from them.

`DataLoader`: loads the objects of many resolvers in one batch."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from strawberry import dataloader
from strawberry.types import Info as StrawberryInfo

from keyfence.admission.admission import TenantRequest
from keyfence.auth.principal import Principal, Role
from keyfence.errors import Forbidden, QuotaExceeded
from keyfence.store.table import Table

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

BYTES_PER_MEGABYTE = 1_000_000


class DataLoader(dataloader.DataLoader[K, V]):
    """A DataLoader whose loads cannot be cancelled by one of the resolvers that wait for them.

    If a field fails, graphql-core cancels the fields next to it. Without the shield, this would cancel a load for which
    resolvers of other fields wait too, and the whole request would end without a response."""

    def load(self, key: K) -> Awaitable[V]:
        return asyncio.shield(super().load(key))


@dataclass(frozen=True, slots=True)
class Context:
    """One request of one tenant. Resolvers reach data only through `table`, whose keys all have the tenant's prefix."""

    caller: TenantRequest
    table: Table
    """The tenant's table. In a mutation, it adds each change to the activity log with the caller's name."""
    _object_by_factory: dict[Callable[["Context"], Any], Any] = field(default_factory=dict)
    _loader_by_factory: dict[Callable[["Context"], Any], Any] = field(default_factory=dict)

    @property
    def principal(self) -> Principal:
        return self.caller.principal

    def get(self, factory: Callable[["Context"], T]) -> T:
        """Returns the object that `factory` creates from this context, such as a repository.

        A request calls each factory once, and gets the same object every time."""
        if factory not in self._object_by_factory:
            self._object_by_factory[factory] = factory(self)
        value: T = self._object_by_factory[factory]
        return value

    def loader(self, factory: Callable[["Context"], DataLoader[K, V]]) -> DataLoader[K, V]:
        """Returns the DataLoader that `factory` creates from this context. It is reused until `clear_loaders`."""
        if factory not in self._loader_by_factory:
            self._loader_by_factory[factory] = factory(self)
        loader: DataLoader[K, V] = self._loader_by_factory[factory]
        return loader

    def clear_loaders(self) -> None:
        """Drops all DataLoaders. Each mutation calls this method, because it may change objects in their caches."""
        self._loader_by_factory.clear()

    def require_free_storage(self) -> None:
        """Raises QuotaExceeded if the last measurement found that the tenant has used up its storage."""
        quota_mb = self.caller.tenant.quotas.storage_mb
        if self.caller.tenant.stored_bytes >= quota_mb * BYTES_PER_MEGABYTE:
            raise QuotaExceeded(f"the tenant's quota of {quota_mb:,} MB of storage is used up", quota="storageMb")

    def require_role(self, required: Role) -> None:
        if not self.principal.role.covers(required):
            raise Forbidden(f"this needs the role {required}; the token has {self.principal.role}")


Info = StrawberryInfo[Context, None]
