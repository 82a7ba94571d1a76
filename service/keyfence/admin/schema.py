"""The operators' schema."""

import strawberry
from strawberry.schema.config import StrawberryConfig

from keyfence.admin.hot_partitions import HotPartitionQueries
from keyfence.admin.identity import IdentityMutations
from keyfence.admin.migrations import MigrationQueries
from keyfence.admin.moves import MoveMutations
from keyfence.admin.offboarding import OffboardingMutations
from keyfence.admin.onboarding import OnboardingMutations
from keyfence.admin.shards import ShardMutations
from keyfence.admin.standing import StandingMutations
from keyfence.admin.tenants import TenantQueries
from keyfence.admin.usage import UsageQueries
from keyfence.graphql.leaves import LeafExecutor
from keyfence.graphql.scalars import SCALARS


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
