"""GraphQL mutation that revokes a session."""

import strawberry

from keyfence.auth.principal import Role
from keyfence.domains.sessions.revocation import RevocationRepository
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
        principal = info.context.principal
        if jti != principal.token_id:
            info.context.require_role(Role.ADMIN)
        await info.context.get(revocation_repository).revoke(jti, principal.subject)
        return True
