"""The GraphQL schema of the operators' API."""

import strawberry
from strawberry.schema.config import StrawberryConfig

from keyfence.admin.jobs import JobQueries, MoveMutations, OffboardingMutations, ShardMutations
from keyfence.admin.tenant_mutations import IssuerMutations, OnboardingMutations, TenantMutations
from keyfence.admin.tenants import TenantQueries
from keyfence.admin.usage import HotPartitionQueries, UsageQueries
from keyfence.graphql.executor import FastScalarExecutor
from keyfence.graphql.scalars import SCALARS


@strawberry.type
class Query(TenantQueries, UsageQueries, JobQueries, HotPartitionQueries):
    """All queries of operators."""


@strawberry.type
class Mutation(
    OnboardingMutations, IssuerMutations, TenantMutations, ShardMutations, MoveMutations, OffboardingMutations
):
    """All mutations of operators."""


schema = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    execution_context_class=FastScalarExecutor,
    config=StrawberryConfig(scalar_map=SCALARS, disable_field_suggestions=True),
)
