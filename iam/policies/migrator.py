"""migrator: finds what to move or purge by scanning, keeps its progress, and changes items as their tenant."""

from iam.boundary import CONTROL
from iam.deployment import Deployment
from iam.document import Policy, Statement
from iam.policies import assumption, trust
from iam.policies.actions import READS, SCAN, WRITES
from iam.policies.fence import INDEXES, UNFENCEABLE, inside
from iam.policies.names import CONTROL_PLANE, TENANT_MIGRATION, WARDEN
from iam.policies.role import RoleDefinition

MIGRATIONS = f"{CONTROL}MIGRATION#"


def identity(deployment: Deployment) -> Policy:
    progress = inside(deployment, MIGRATIONS, (*READS, *WRITES))
    becoming = (
        assumption.tenants(deployment, TENANT_MIGRATION),
        assumption.untagged(deployment, CONTROL_PLANE, WARDEN),
    )
    return Policy(statements=(_scan(deployment), *progress, *becoming, UNFENCEABLE))


def _scan(deployment: Deployment) -> Statement:
    """Of the indexes too: what is left of a tenant must not lie in one of them."""
    places = (deployment.table_arn, *(deployment.index_arn(index) for index in INDEXES))
    return Statement(effect="Allow", sid="AcceptH1ScanToFindItems", actions=(SCAN,), resources=places)


MIGRATOR = RoleDefinition(identity=identity, trust=trust.by_compute)
