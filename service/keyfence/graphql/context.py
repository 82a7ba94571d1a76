"""`Context` of one request: its caller, its table, and what resolvers make from them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from strawberry.dataloader import DataLoader
from strawberry.types import Info as StrawberryInfo

from keyfence.admission.admission import TenantRequest
from keyfence.auth.principal import Principal, Role
from keyfence.errors import Forbidden, QuotaExceeded
from keyfence.store.table import Table

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Context:
    """One request of one tenant. Resolvers reach data through `table` alone, which is fenced to the tenant."""

    caller: TenantRequest
    table: Table
    """The tenant's table, which logs changes as activity of the caller."""
    _objects: dict[Callable[["Context"], Any], Any] = field(default_factory=dict)
    _loaders: dict[Callable[["Context"], Any], Any] = field(default_factory=dict)

    @property
    def principal(self) -> Principal:
        return self.caller.principal

    def get(self, factory: Callable[["Context"], T]) -> T:
        """Returns what `factory` makes from this context, such as a repository. Each factory runs once a request."""
        if factory not in self._objects:
            self._objects[factory] = factory(self)
        value: T = self._objects[factory]
        return value

    def loader(self, factory: Callable[["Context"], DataLoader[K, V]]) -> DataLoader[K, V]:
        """Returns the DataLoader that `factory` makes from this context, until `clear_loaders` is called."""
        if factory not in self._loaders:
            self._loaders[factory] = factory(self)
        loader: DataLoader[K, V] = self._loaders[factory]
        return loader

    def clear_loaders(self) -> None:
        """Drops all DataLoaders before a mutation, since what they cached may be wrong after it."""
        self._loaders.clear()

    def require_free_storage(self) -> None:
        """Raises QuotaExceeded if the tenant used up its storage when it was last measured."""
        quota_mb = self.caller.tenant.quotas.storage_mb
        if self.caller.tenant.stored_bytes >= quota_mb * MEGABYTE:
            raise QuotaExceeded(f"the tenant's quota of {quota_mb:,} MB of storage is used up", quota="storageMb")

    def require_role(self, needed: Role) -> None:
        if not self.principal.role.covers(needed):
            raise Forbidden(f"this needs the role {needed}; the token has {self.principal.role}")


Info = StrawberryInfo[Context, None]
