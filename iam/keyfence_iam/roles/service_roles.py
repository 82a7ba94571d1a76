"""Service-base, control-plane, migrator, provisioner, stream-worker, tenant suspension."""

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Condition, Policy, Statement
from keyfence_iam.policy.actions import ADMINISTRATION, MAKING, READS, SCAN, STREAM_READS, WRITES
from keyfence_iam.policy.role import RoleDefinition
from keyfence_iam.roles import statements
from keyfence_iam.roles.names import CONTROL_PLANE as CONTROL_PLANE_ROLE
from keyfence_iam.roles.names import MIGRATOR as MIGRATOR_ROLE
from keyfence_iam.roles.names import SERVICE_BASE as SERVICE_BASE_ROLE
from keyfence_iam.roles.names import TENANT_MIGRATION, TENANT_READ, TENANT_WRITE
from keyfence_iam.roles.names import WARDEN as WARDEN_ROLE
from keyfence_iam.roles.statements import EVERYTHING, NO_DATA, UNFENCEABLE, UNSCANNED, indexes_of, inside, refused
from keyfence_iam.tenant import CONTROL


def service_base_identity(deployment: Deployment) -> Policy:
    return Policy(
        statements=(
            statements.tenants(deployment, TENANT_READ, TENANT_WRITE),
            statements.untagged(deployment, CONTROL_PLANE_ROLE, WARDEN_ROLE),
            refused(("dynamodb:*",), "NoDynamoDB"),
        )
    )


SERVICE_BASE = RoleDefinition(identity=service_base_identity, trust=statements.by_compute)


def control_plane_identity(deployment: Deployment) -> Policy:
    return Policy(statements=(*inside((deployment.table_arn,), CONTROL, (*READS, *WRITES)), UNSCANNED, UNFENCEABLE))


def control_plane_trusted(deployment: Deployment) -> Policy:
    return statements.as_nobody(deployment, SERVICE_BASE_ROLE, MIGRATOR_ROLE)


CONTROL_PLANE = RoleDefinition(identity=control_plane_identity, trust=control_plane_trusted)


def stream_worker_identity(deployment: Deployment) -> Policy:
    return Policy(statements=(_reads(deployment), LISTING, statements.tenants(deployment, TENANT_WRITE), NO_DATA))


def _reads(deployment: Deployment) -> Statement:
    return Statement(
        effect="Allow",
        sid="AcceptH19ChangesOfTheTable",
        actions=STREAM_READS,
        resources=(f"{deployment.table_arn}/stream/*",),
    )


LISTING = Statement(effect="Allow", sid="FindTheStream", actions=("dynamodb:ListStreams",), resources=EVERYTHING)
STREAM_WORKER = RoleDefinition(identity=stream_worker_identity, trust=statements.by_compute)


def provisioner_identity(deployment: Deployment) -> Policy:
    making = Statement(effect="Allow", sid="MakeTheTable", actions=MAKING, resources=(deployment.table_arn,))
    return Policy(statements=(making, NO_DATA))


PROVISIONER = RoleDefinition(identity=provisioner_identity, trust=statements.by_the_account)


MIGRATIONS = f"{CONTROL}MIGRATION#"
ANY_TENANT = "*"
REMOVING = "dynamodb:DeleteTable"


def migrator_identity(deployment: Deployment) -> Policy:
    progress = inside((deployment.table_arn,), MIGRATIONS, (*READS, *WRITES))
    becoming = (
        statements.tenants(deployment, TENANT_MIGRATION),
        statements.untagged(deployment, CONTROL_PLANE_ROLE, WARDEN_ROLE),
    )
    silos = (_scan_silos(deployment), _make_silos(deployment), _pool_stays(deployment))
    return Policy(statements=(_scan(deployment), *silos, *progress, *becoming, UNFENCEABLE))


def _scan(deployment: Deployment) -> Statement:
    """Of the indexes too: what is left of a tenant must not lie in one of them."""
    places = (deployment.table_arn, *indexes_of(deployment.table_arn))
    return Statement(effect="Allow", sid="AcceptH1ScanToFindItems", actions=(SCAN,), resources=places)


def _scan_silos(deployment: Deployment) -> Statement:
    return _on_silos(deployment, "AcceptH1AcceptH29ScanSilos", SCAN)


def _make_silos(deployment: Deployment) -> Statement:
    return _on_silos(deployment, "AcceptH19AcceptH29MakeSilos", *MAKING, REMOVING)


def _on_silos(deployment: Deployment, sid: str, *actions: str) -> Statement:
    """Whoever's: the migrator is no tenant. '*' crosses '/', so that the indexes are among them."""
    return Statement(effect="Allow", sid=sid, actions=actions, resources=(deployment.silo_arn(ANY_TENANT),))


def _pool_stays(deployment: Deployment) -> Statement:
    """Whatever else may be granted to it some day."""
    return Statement(effect="Deny", sid="ThePoolStays", actions=ADMINISTRATION, resources=(deployment.table_arn,))


MIGRATOR = RoleDefinition(identity=migrator_identity, trust=statements.by_compute)


GUARDED = (TENANT_READ, TENANT_WRITE)
"""Not tenant-migration: what is moved or purged is so while its tenant is refused."""

WRITING = ("iam:PutRolePolicy", "iam:DeleteRolePolicy")
READING = ("iam:GetRolePolicy",)


def warden_identity(deployment: Deployment) -> Policy:
    guarding = (_guarding(deployment, role) for role in GUARDED)
    return Policy(statements=(*guarding, _looking(deployment), refused(("dynamodb:*",), "NoDynamoDB")))


def _guarding(deployment: Deployment, role: str) -> Statement:
    """Only while the role has its boundary: within it an inline policy can take away and never give."""
    return Statement(
        effect="Allow",
        sid="Guard" + role.title().replace("-", ""),
        actions=WRITING,
        resources=(deployment.role_arn(role),),
        conditions=(Condition("StringEquals", "iam:PermissionsBoundary", (deployment.boundary_arn(role),)),),
    )


def _looking(deployment: Deployment) -> Statement:
    roles = tuple(deployment.role_arn(role) for role in GUARDED)
    return Statement(effect="Allow", sid="SeeWhoIsRefused", actions=READING, resources=roles)


def warden_trusted(deployment: Deployment) -> Policy:
    return statements.as_nobody(deployment, SERVICE_BASE_ROLE, MIGRATOR_ROLE)


WARDEN = RoleDefinition(identity=warden_identity, trust=warden_trusted)
