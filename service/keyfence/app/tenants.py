"""The tenants' endpoint: who is let in, by which quotas, to which table."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from keyfence.admission.admission import Admission
from keyfence.admission.tenant_limits import TenantLimitsCache
from keyfence.app.domains import load_domains
from keyfence.auth.key_sets import JwksFetcher
from keyfence.auth.principal import INTROSPECT
from keyfence.auth.tenant_issuers import TenantIssuers
from keyfence.auth.token import bearer_token
from keyfence.auth.verifier import tenant_verifier
from keyfence.domain import Domains
from keyfence.domains.sessions.revocation import RevocationCheck as SessionStanding
from keyfence.domains.sessions.revocation import RevocationRepository as RevokedSessions
from keyfence.graphql.context import Context, TenantRequest, request_cost, turn_of
from keyfence.graphql.executor import GraphQLExecutor, RequestInfo
from keyfence.http.graphiql import graphiql_page
from keyfence.http.graphql_endpoint import GraphQLEndpoint
from keyfence.http.metrics import Metrics
from keyfence.settings import Settings
from keyfence.store.tables import Tables
from keyfence.tenancy.administration import Identities
from keyfence.tenancy.cache import TenantCache
from keyfence.usage.hourly_usage import price_table
from keyfence.usage.ledger import UsageLedger
from keyfence_iam.token_bucket import call_budget


def tenants_endpoint(
    settings: Settings, tables: Tables, metrics: Metrics, registry: TenantCache, owned: TenantIssuers, turns: Admission
) -> GraphQLEndpoint[TenantRequest, Context]:
    domains = load_domains(settings.domains)
    return GraphQLEndpoint(
        authenticate=_admission(settings, registry, owned, turns),
        turn=turn_of,
        executor=GraphQLExecutor(domains.schema),
        context=_contexts(tables, domains),
        confirm=_sessions(settings, tables),
        cost=partial(request_cost, price_table(settings)),
        introspection=lambda caller: settings.introspection or INTROSPECT in caller.principal.scopes,
        page=graphiql_page if settings.graphiql else None,
        metrics=metrics,
    )


def owned_issuers(settings: Settings, tables: Tables, published: JwksFetcher) -> TenantIssuers:
    return TenantIssuers(
        Identities(tables.control(writes=False)).find,
        published.at,
        call_budget(settings.issuer_lookups_per_second),
        max_age=settings.tenant_cache_seconds,
    )


def turns_of(settings: Settings, tables: Tables) -> Admission:
    """One tenant takes at most half of the threads."""
    allowances = TenantLimitsCache(servers=settings.fleet, width=max(1, settings.data_threads // 2))
    return Admission(allowances=allowances, ledger=UsageLedger(), total=tables.meter)


def _admission(
    settings: Settings, registry: TenantCache, owned: TenantIssuers, turns: Admission
) -> Callable[[str | None], Awaitable[TenantRequest]]:
    verifier = tenant_verifier(settings, owned=owned)

    async def admit(authorization: str | None) -> TenantRequest:
        principal = await verifier.verify(bearer_token(authorization))
        tenant = await registry.served(principal.tenant)
        return TenantRequest(principal, tenant, turns.begin(tenant), registry.home(tenant))

    return admit


def _sessions(settings: Settings, tables: Tables) -> Callable[[TenantRequest], Awaitable[None]]:
    """Read with what a query may do, and consistently, so that it holds from the next request on."""

    def sessions(caller: TenantRequest) -> RevokedSessions:
        table = tables.tenant(caller.home, writes=False, meter=caller.turn, lane=caller.turn.way)
        return RevokedSessions(replace(table, consistent=True))

    standing = SessionStanding(settings.revocation_seconds)
    return lambda caller: standing.check(caller.tenant.id, caller.principal.token_id, partial(sessions, caller))


def _contexts(tables: Tables, domains: Domains) -> Callable[[TenantRequest, RequestInfo], Context]:
    def context(caller: TenantRequest, request: RequestInfo) -> Context:
        writes, turn = request.mutates, caller.turn
        table = tables.tenant(caller.home, writes=writes, meter=turn, lane=turn.way)
        return Context(caller, replace(table, activity_log=domains.activity_log(caller.principal.subject)))

    return context
