"""Service-base, control-plane, migrator, provisioner, stream-worker, tenant suspension."""

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Condition, Policy, Statement
from keyfence_iam.policy.actions import READS, SCAN, STREAM_READS, TABLE_ADMIN_ACTIONS, TABLE_SETUP_ACTIONS, WRITES
from keyfence_iam.policy.role import RoleDefinition
from keyfence_iam.roles import statements
from keyfence_iam.roles.names import CONTROL_PLANE as CONTROL_PLANE_ROLE
from keyfence_iam.roles.names import MIGRATOR as MIGRATOR_ROLE
from keyfence_iam.roles.names import SERVICE_BASE as SERVICE_BASE_ROLE
from keyfence_iam.roles.names import SUSPENDER as SUSPENDER_ROLE
from keyfence_iam.roles.names import TENANT_MIGRATION, TENANT_READ, TENANT_WRITE
from keyfence_iam.roles.statements import (
    ALL_RESOURCES,
    DENY_ITEMS,
    DENY_SCAN,
    DENY_TABLE_WIDE,
    allow_with_leading_keys,
    deny,
    indexes_of,
)
from keyfence_iam.tenant import CONTROL_PLANE_PREFIX


def service_base_identity(deployment: Deployment) -> Policy:
    return Policy(
        statements=(
            statements.allow_assume_as_tenant(deployment, TENANT_READ, TENANT_WRITE),
            statements.allow_assume_untagged(deployment, CONTROL_PLANE_ROLE, SUSPENDER_ROLE),
            deny(("dynamodb:*",), "DenyDynamoDB"),
        )
    )


SERVICE_BASE = RoleDefinition(identity=service_base_identity, trust=statements.trust_compute)


def control_plane_identity(deployment: Deployment) -> Policy:
    return Policy(
        statements=(
            *allow_with_leading_keys((deployment.table_arn,), CONTROL_PLANE_PREFIX, (*READS, *WRITES)),
            DENY_SCAN,
            DENY_TABLE_WIDE,
        )
    )


def control_plane_trusted(deployment: Deployment) -> Policy:
    return statements.trust_untagged(deployment, SERVICE_BASE_ROLE, MIGRATOR_ROLE)


CONTROL_PLANE = RoleDefinition(identity=control_plane_identity, trust=control_plane_trusted)


def stream_worker_identity(deployment: Deployment) -> Policy:
    return Policy(
        statements=(
            _reads(deployment),
            LISTING,
            statements.allow_assume_as_tenant(deployment, TENANT_WRITE),
            DENY_ITEMS,
        )
    )


def _reads(deployment: Deployment) -> Statement:
    return Statement(
        effect="Allow",
        sid="AcceptH19ReadStream",
        actions=STREAM_READS,
        resources=(f"{deployment.table_arn}/stream/*",),
    )


LISTING = Statement(effect="Allow", sid="ListStreams", actions=("dynamodb:ListStreams",), resources=ALL_RESOURCES)
STREAM_WORKER = RoleDefinition(identity=stream_worker_identity, trust=statements.trust_compute)


def provisioner_identity(deployment: Deployment) -> Policy:
    making = Statement(effect="Allow", sid="SetUpTable", actions=TABLE_SETUP_ACTIONS, resources=(deployment.table_arn,))
    return Policy(statements=(making, DENY_ITEMS))


PROVISIONER = RoleDefinition(identity=provisioner_identity, trust=statements.trust_account)


MIGRATIONS = f"{CONTROL_PLANE_PREFIX}MIGRATION#"
ANY_TENANT = "*"
REMOVING = "dynamodb:DeleteTable"


def migrator_identity(deployment: Deployment) -> Policy:
    progress = allow_with_leading_keys((deployment.table_arn,), MIGRATIONS, (*READS, *WRITES))
    becoming = (
        statements.allow_assume_as_tenant(deployment, TENANT_MIGRATION),
        statements.allow_assume_untagged(deployment, CONTROL_PLANE_ROLE, SUSPENDER_ROLE),
    )
    silos = (_scan_silos(deployment), _make_silos(deployment), _pool_stays(deployment))
    return Policy(statements=(_scan(deployment), *silos, *progress, *becoming, DENY_TABLE_WIDE))


def _scan(deployment: Deployment) -> Statement:
    """Of the indexes too: what is left of a tenant must not lie in one of them."""
    places = (deployment.table_arn, *indexes_of(deployment.table_arn))
    return Statement(effect="Allow", sid="AcceptH1ScanToFindItems", actions=(SCAN,), resources=places)


def _scan_silos(deployment: Deployment) -> Statement:
    return _on_silos(deployment, "AcceptH1AcceptH29ScanSilos", SCAN)


def _make_silos(deployment: Deployment) -> Statement:
    return _on_silos(deployment, "AcceptH19AcceptH29ManageSilos", *TABLE_SETUP_ACTIONS, REMOVING)


def _on_silos(deployment: Deployment, sid: str, *actions: str) -> Statement:
    """Whoever's: the migrator is no tenant. '*' crosses '/', so that the indexes are among them."""
    return Statement(effect="Allow", sid=sid, actions=actions, resources=(deployment.silo_arn(ANY_TENANT),))


def _pool_stays(deployment: Deployment) -> Statement:
    """Whatever else may be granted to it some day."""
    return Statement(
        effect="Deny", sid="DenyPoolAdministration", actions=TABLE_ADMIN_ACTIONS, resources=(deployment.table_arn,)
    )


MIGRATOR = RoleDefinition(identity=migrator_identity, trust=statements.trust_compute)


SUSPENDABLE_ROLES = (TENANT_READ, TENANT_WRITE)
"""Not tenant-migration: what is moved or purged is so while its tenant is refused."""

WRITING = ("iam:PutRolePolicy", "iam:DeleteRolePolicy")
READING = ("iam:GetRolePolicy",)


def suspender_identity(deployment: Deployment) -> Policy:
    guarding = (_write_suspensions(deployment, role) for role in SUSPENDABLE_ROLES)
    return Policy(statements=(*guarding, _read_suspensions(deployment), deny(("dynamodb:*",), "DenyDynamoDB")))


def _write_suspensions(deployment: Deployment, role: str) -> Statement:
    """Only while the role has its boundary: within it an inline policy can take away and never give."""
    return Statement(
        effect="Allow",
        sid="Suspend" + role.title().replace("-", ""),
        actions=WRITING,
        resources=(deployment.role_arn(role),),
        conditions=(Condition("StringEquals", "iam:PermissionsBoundary", (deployment.boundary_arn(role),)),),
    )


def _read_suspensions(deployment: Deployment) -> Statement:
    roles = tuple(deployment.role_arn(role) for role in SUSPENDABLE_ROLES)
    return Statement(effect="Allow", sid="ReadSuspensions", actions=READING, resources=roles)


def suspender_trust(deployment: Deployment) -> Policy:
    return statements.trust_untagged(deployment, SERVICE_BASE_ROLE, MIGRATOR_ROLE)


SUSPENDER = RoleDefinition(identity=suspender_identity, trust=suspender_trust)
