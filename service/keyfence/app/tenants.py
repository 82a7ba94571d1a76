"""The tenants' endpoint: who is let in, by which quotas, to which table."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from keyfence.admission.admission import Turns
from keyfence.admission.tenant_limits import Allowances
from keyfence.auth.key_sets import PublishedKeys
from keyfence.auth.principal import INTROSPECT
from keyfence.auth.tenant_issuers import OwnedIssuers
from keyfence.auth.token import bearer
from keyfence.auth.verifier import tenant_verifier
from keyfence.domains.sessions.revocation import Sessions as RevokedSessions
from keyfence.domains.sessions.revocation import Standing as SessionStanding
from keyfence.graphql.context import Caller, Context, cost_of, turn_of
from keyfence.graphql.executor import GraphQLExecutor, RequestInfo
from keyfence.graphql.schema import schema
from keyfence.http.graphiql import graphiql_page
from keyfence.http.graphql_endpoint import GraphQLEndpoint
from keyfence.http.metrics import Metrics
from keyfence.settings import Settings
from keyfence.store.tables import Tables
from keyfence.tenancy.administration import Identities
from keyfence.tenancy.cache import Registry
from keyfence.usage.hourly_usage import prices_in
from keyfence.usage.ledger import Ledger
from keyfence_iam.token_bucket import Budget


def tenants_endpoint(
    settings: Settings, tables: Tables, metrics: Metrics, registry: Registry, owned: OwnedIssuers, turns: Turns
) -> GraphQLEndpoint[Caller, Context]:
    return GraphQLEndpoint(
        authenticate=_admission(settings, registry, owned, turns),
        turn=turn_of,
        executor=GraphQLExecutor(schema),
        context=_contexts(tables),
        confirm=_sessions(settings, tables),
        cost=partial(cost_of, prices_in(settings)),
        introspection=lambda caller: settings.introspection or INTROSPECT in caller.principal.scopes,
        page=graphiql_page if settings.graphiql else None,
        metrics=metrics,
    )


def owned_issuers(settings: Settings, tables: Tables, published: PublishedKeys) -> OwnedIssuers:
    return OwnedIssuers(
        Identities(tables.control(writes=False)).find,
        published.at,
        Budget(settings.issuer_lookups_per_second),
        max_age=settings.registry_seconds,
    )


def turns_of(settings: Settings, tables: Tables) -> Turns:
    """One tenant takes at most half of the threads."""
    allowances = Allowances(servers=settings.fleet, width=max(1, settings.data_threads // 2))
    return Turns(allowances=allowances, ledger=Ledger(), total=tables.meter)


def _admission(
    settings: Settings, registry: Registry, owned: OwnedIssuers, turns: Turns
) -> Callable[[str | None], Awaitable[Caller]]:
    verifier = tenant_verifier(settings, owned=owned)

    async def admit(authorization: str | None) -> Caller:
        principal = await verifier.verify(bearer(authorization))
        tenant = await registry.served(principal.tenant)
        return Caller(principal, tenant, turns.begin(tenant), registry.home(tenant))

    return admit


def _sessions(settings: Settings, tables: Tables) -> Callable[[Caller], Awaitable[None]]:
    """Read with what a query may do, and consistently, so that it holds from the next request on."""

    def sessions(caller: Caller) -> RevokedSessions:
        table = tables.tenant(caller.home, writes=False, meter=caller.turn, lane=caller.turn.way)
        return RevokedSessions(replace(table, consistent=True))

    standing = SessionStanding(settings.revocation_seconds)
    return lambda caller: standing.check(caller.tenant.id, caller.principal.token_id, partial(sessions, caller))


def _contexts(tables: Tables) -> Callable[[Caller, RequestInfo], Context]:
    def context(caller: Caller, request: RequestInfo) -> Context:
        writes, turn = request.mutates, caller.turn
        return Context(caller, tables.tenant(caller.home, writes=writes, meter=turn, lane=turn.way))

    return context
