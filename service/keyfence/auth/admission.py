"""Who a verified token's bearer is: a principal of one tenant, or an operator."""

from keyfence.auth.claims import Claims
from keyfence.auth.issuer import Issuer
from keyfence.auth.principal import Operator, Principal
from keyfence.auth.role import Role
from keyfence.errors import Unauthenticated
from keyfence_iam.boundary import BadTenantId, TenantId, tenant_id


def admit_principal(claims: Claims, issuer: Issuer) -> Principal:
    return Principal(
        tenant=_tenant(claims, issuer),
        subject=claims.subject,
        role=_role(claims),
        token_id=claims.token_id,
        expires_at=claims.expires_at,
        scopes=claims.scopes,
    )


def admit_operator(claims: Claims, issuer: Issuer) -> Operator:
    if claims.tenant is not None or issuer.tenant is not None:
        raise Unauthenticated("a tenant's token does not open the operators' door")
    return Operator(
        subject=claims.subject, token_id=claims.token_id, expires_at=claims.expires_at, scopes=claims.scopes
    )


def _tenant(claims: Claims, issuer: Issuer) -> TenantId:
    try:
        tenant = tenant_id(claims.tenant)
    except BadTenantId:
        raise Unauthenticated("the token's tenant claim is not a tenant id") from None
    if issuer.tenant not in (None, tenant):
        raise Unauthenticated("the token's issuer does not speak for its tenant")
    return tenant


def _role(claims: Claims) -> Role:
    if not isinstance(claims.role, str) or claims.role not in Role.__members__:
        raise Unauthenticated("the token's role claim is not one of OWNER, ADMIN, MEMBER and VIEWER")
    return Role(claims.role)
