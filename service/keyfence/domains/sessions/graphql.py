"""GraphQL mutations that revoke tokens."""

import strawberry

from keyfence.auth.principal import Role
from keyfence.domains.sessions.revocation import RevocationRepository, RevocationScope, ids_by_scope
from keyfence.graphql.context import Context, Info
from keyfence.graphql.mutation_checks import mutation


def revocation_repository(context: Context) -> RevocationRepository:
    return RevocationRepository(context.table)


@strawberry.type
class SessionMutations:
    """Mutations of sessions."""

    @mutation(
        needs=Role.VIEWER,
        frees_storage=True,
        description="Revoke a token by its jti claim. Only an ADMIN can revoke a token that is not the request's own.",
    )
    async def revoke_session(self, info: Info, jti: str) -> bool:
        return await _revoke(info.context, RevocationScope.JTI, jti)

    @mutation(
        needs=Role.VIEWER,
        frees_storage=True,
        description="Revoke all tokens of a login by their sid claim, for providers whose tokens have no jti. Only an "
        "ADMIN can revoke a login that is not the request's own.",
    )
    async def revoke_login(self, info: Info, sid: str) -> bool:
        return await _revoke(info.context, RevocationScope.SID, sid)

    @mutation(
        needs=Role.VIEWER,
        frees_storage=True,
        description="Revoke all tokens with this sub claim that were issued until now. Only an ADMIN can revoke tokens "
        "of a subject that is not the request's own.",
    )
    async def revoke_subject(self, info: Info, sub: str) -> bool:
        return await _revoke(info.context, RevocationScope.SUB, sub)


async def _revoke(context: Context, scope: RevocationScope, id: str) -> bool:
    principal = context.principal
    if ids_by_scope(principal).get(scope) != id:
        context.require_role(Role.ADMIN)
    await context.get(revocation_repository).revoke(id, principal.subject, scope)
    return True
