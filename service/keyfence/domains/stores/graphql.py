"""GraphQL types, query and mutation of stores."""

import strawberry

from keyfence.auth.principal import Role
from keyfence.domains.stores import model
from keyfence.domains.stores.geohash import Circle
from keyfence.domains.stores.model import StoreId
from keyfence.domains.stores.repository import StoreRepository
from keyfence.graphql.context import Context, DataLoader, Info
from keyfence.graphql.mutation_checks import mutation
from keyfence.graphql.relay_types import Node, page_size


def store_repository(context: Context) -> StoreRepository:
    return StoreRepository(context.table)


def store_loader(context: Context) -> DataLoader[StoreId, model.Store | None]:
    return DataLoader(load_fn=context.get(store_repository).find_many)


async def load_store(context: Context, id: str) -> Node | None:
    store = await context.loader(store_loader).load(StoreId(id))
    return Store.of(store) if store else None


@strawberry.type(description="A store with its coordinates.")
class Store(Node):
    """A store."""

    name: str
    latitude: float
    longitude: float

    @classmethod
    def of(cls, store: model.Store) -> "Store":
        return cls(
            id=strawberry.ID(store.id),
            name=store.name,
            latitude=float(store.latitude),
            longitude=float(store.longitude),
        )


@strawberry.type(description="A store and its distance from a point, along the surface of the earth.")
class StoreDistance:
    """One result of a search for stores."""

    store: Store
    distance_km: float

    @classmethod
    def of(cls, nearby: model.NearbyStore) -> "StoreDistance":
        return cls(store=Store.of(nearby.store), distance_km=nearby.distance_km)


@strawberry.input
class CreateStoreInput:
    """The fields of a new store. Coordinates are degrees north and east."""

    name: str
    latitude: float
    longitude: float


@strawberry.type
class StoreQueries:
    """Queries of stores."""

    @strawberry.field(
        description="The stores in a circle, nearest first. Fails if more than 1,000 stores may be in the circle."
    )
    async def stores_near(
        self, info: Info, latitude: float, longitude: float, radius_km: float, first: int | None = 20
    ) -> list[StoreDistance]:
        circle = Circle(latitude=latitude, longitude=longitude, radius_km=radius_km)
        return [
            StoreDistance.of(nearby)
            for nearby in await info.context.get(store_repository).near(circle, first=page_size(first))
        ]


@strawberry.type
class StoreMutations:
    """Mutations of stores."""

    @mutation(needs=Role.ADMIN, description="Create a store.")
    async def create_store(self, info: Info, input: CreateStoreInput) -> Store:
        return Store.of(
            await info.context.get(store_repository).create(
                name=input.name, latitude=input.latitude, longitude=input.longitude
            )
        )
