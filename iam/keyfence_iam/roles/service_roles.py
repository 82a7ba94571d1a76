"""The policies of the roles of servers, workers, jobs and operators. The sessions of these roles have no tenant.

A Sid that contains `AcceptH1` tells the policy linter that its finding H1 is intended in this statement.
"""

from keyfence_iam import arns
from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Condition, Policy, Statement
from keyfence_iam.policy.actions import (
    READ_ACTIONS,
    SCAN,
    STREAM_READ_ACTIONS,
    TABLE_ADMIN_ACTIONS,
    TABLE_SETUP_ACTIONS,
    WRITE_ACTIONS,
)
from keyfence_iam.policy.role import RoleDefinition
from keyfence_iam.roles import names
from keyfence_iam.roles.shared_statements import (
    ALL_RESOURCES,
    DENY_ITEMS,
    DENY_SCAN,
    DENY_TABLE_WIDE,
    allow_assume_as_tenant,
    allow_assume_untagged,
    allow_with_leading_keys,
    deny,
    index_arns,
    trust_account,
    trust_compute_services,
    trust_untagged,
)
from keyfence_iam.tenant import CONTROL_PLANE_PREFIX

SUSPENDABLE_ROLES = (names.TENANT_READ, names.TENANT_WRITE)
"""The roles that are denied to suspended tenants. Jobs use tenant-migration, which is never denied to a tenant."""
JOB_KEY_PREFIX = f"{CONTROL_PLANE_PREFIX}JOB#"
"""The beginning of the partition keys of jobs."""
ANY_TENANT = "*"
DENY_DYNAMODB = deny(("dynamodb:*",), "DenyDynamoDB")


def service_base_identity(deployment: Deployment) -> Policy:
    return Policy(
        statements=(
            allow_assume_as_tenant(deployment, names.TENANT_READ, names.TENANT_WRITE),
            allow_assume_untagged(deployment, names.CONTROL_PLANE, names.SUSPENDER),
            DENY_DYNAMODB,
        )
    )


SERVICE_BASE = RoleDefinition(identity=service_base_identity, trust=trust_compute_services)


def control_plane_identity(deployment: Deployment) -> Policy:
    return Policy(
        statements=(
            *allow_with_leading_keys(
                deployment, (deployment.table_arn,), CONTROL_PLANE_PREFIX, (*READ_ACTIONS, *WRITE_ACTIONS)
            ),
            DENY_SCAN,
            DENY_TABLE_WIDE,
        )
    )


def control_plane_trust(deployment: Deployment) -> Policy:
    return trust_untagged(deployment, names.SERVICE_BASE, names.MIGRATOR)


CONTROL_PLANE = RoleDefinition(identity=control_plane_identity, trust=control_plane_trust)


def stream_worker_identity(deployment: Deployment) -> Policy:
    read_stream = Statement(
        effect="Allow",
        sid="AcceptH19ReadStream",
        actions=STREAM_READ_ACTIONS,
        resources=(arns.stream_arn(deployment.table_arn, "*"),),
    )
    list_streams = Statement(
        effect="Allow", sid="ListStreams", actions=("dynamodb:ListStreams",), resources=ALL_RESOURCES
    )
    return Policy(
        statements=(read_stream, list_streams, allow_assume_as_tenant(deployment, names.TENANT_WRITE), DENY_ITEMS)
    )


STREAM_WORKER = RoleDefinition(identity=stream_worker_identity, trust=trust_compute_services)


def provisioner_identity(deployment: Deployment) -> Policy:
    set_up_table = Statement(
        effect="Allow", sid="SetUpTable", actions=TABLE_SETUP_ACTIONS, resources=(deployment.table_arn,)
    )
    return Policy(statements=(set_up_table, DENY_ITEMS))


PROVISIONER = RoleDefinition(identity=provisioner_identity, trust=trust_account)


def migrator_identity(deployment: Deployment) -> Policy:
    return Policy(
        statements=(
            _allow_scan_of_pool(deployment),
            _allow_on_silos(deployment, "AcceptH1AcceptH29ScanSilos", SCAN),
            _allow_on_silos(deployment, "AcceptH19AcceptH29ManageSilos", *TABLE_SETUP_ACTIONS, "dynamodb:DeleteTable"),
            _deny_pool_administration(deployment),
            *allow_with_leading_keys(
                deployment, (deployment.table_arn,), JOB_KEY_PREFIX, (*READ_ACTIONS, *WRITE_ACTIONS)
            ),
            allow_assume_as_tenant(deployment, names.TENANT_MIGRATION),
            allow_assume_untagged(deployment, names.CONTROL_PLANE, names.SUSPENDER),
            DENY_TABLE_WIDE,
        )
    )


def _allow_scan_of_pool(deployment: Deployment) -> Statement:
    """Allows Scan of the shared table and its indexes.

    After a tenant's items were deleted, the indexes are also scanned for items that are left.
    """
    resources = (deployment.table_arn, *index_arns(deployment, deployment.table_arn))
    return Statement(effect="Allow", sid="AcceptH1ScanToFindItems", actions=(SCAN,), resources=resources)


def _allow_on_silos(deployment: Deployment, sid: str, *actions: str) -> Statement:
    """Allows actions on the silos of all tenants. The wildcard also matches `/`, and therefore the indexes of silos."""
    return Statement(effect="Allow", sid=sid, actions=actions, resources=(deployment.silo_arn(ANY_TENANT),))


def _deny_pool_administration(deployment: Deployment) -> Statement:
    """Denies changes and deletion of the shared table, even if another statement allows them by mistake."""
    return Statement(
        effect="Deny", sid="DenyPoolAdministration", actions=TABLE_ADMIN_ACTIONS, resources=(deployment.table_arn,)
    )


MIGRATOR = RoleDefinition(identity=migrator_identity, trust=trust_compute_services)


def suspender_identity(deployment: Deployment) -> Policy:
    write_suspensions = (_allow_suspension(deployment, role) for role in SUSPENDABLE_ROLES)
    read_suspensions = Statement(
        effect="Allow",
        sid="ReadSuspensions",
        actions=("iam:GetRolePolicy",),
        resources=tuple(deployment.role_arn(role) for role in SUSPENDABLE_ROLES),
    )
    return Policy(statements=(*write_suspensions, read_suspensions, DENY_DYNAMODB))


def _allow_suspension(deployment: Deployment, role: str) -> Statement:
    """Allows changes of the inline policies of a role, but only while the role has its permissions boundary.

    With the boundary, an inline policy can take permissions away, but it cannot add permissions.
    """
    return Statement(
        effect="Allow",
        sid="Suspend" + role.title().replace("-", ""),
        actions=("iam:PutRolePolicy", "iam:DeleteRolePolicy"),
        resources=(deployment.role_arn(role),),
        conditions=(Condition("StringEquals", "iam:PermissionsBoundary", (deployment.boundary_arn(role),)),),
    )


def suspender_trust(deployment: Deployment) -> Policy:
    return trust_untagged(deployment, names.SERVICE_BASE, names.MIGRATOR)


SUSPENDER = RoleDefinition(identity=suspender_identity, trust=suspender_trust)
