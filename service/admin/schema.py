"""The operators' schema."""

import strawberry
from strawberry.schema.config import StrawberryConfig

from service.admin.hot_partitions import HotPartitionQueries
from service.admin.identity import IdentityMutations
from service.admin.migrations import MigrationQueries
from service.admin.moves import MoveMutations
from service.admin.offboarding import OffboardingMutations
from service.admin.onboarding import OnboardingMutations
from service.admin.shards import ShardMutations
from service.admin.standing import StandingMutations
from service.admin.tenants import TenantQueries
from service.admin.usage import UsageQueries
from service.graphql.leaves import LeafExecutor
from service.graphql.scalars import SCALARS


@strawberry.type
class Query(TenantQueries, UsageQueries, MigrationQueries, HotPartitionQueries):
    """What an operator can ask."""


@strawberry.type
class Mutation(
    OnboardingMutations, IdentityMutations, StandingMutations, ShardMutations, MoveMutations, OffboardingMutations
):
    """What an operator can change."""


schema = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    execution_context_class=LeafExecutor,
    config=StrawberryConfig(scalar_map=SCALARS, disable_field_suggestions=True),
)
