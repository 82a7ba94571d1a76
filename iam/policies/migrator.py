"""migrator: finds what to move by scanning the table, keeps its progress, and moves items as their tenant."""

from iam.boundary import CONTROL
from iam.deployment import Deployment
from iam.document import Policy, Statement
from iam.policies import assumption, trust
from iam.policies.actions import READS, SCAN, WRITES
from iam.policies.fence import UNFENCEABLE, inside
from iam.policies.names import TENANT_WRITE
from iam.policies.role import RoleDefinition

MIGRATIONS = f"{CONTROL}MIGRATION#"


def identity(deployment: Deployment) -> Policy:
    progress = inside(deployment, MIGRATIONS, (*READS, *WRITES))
    return Policy(statements=(_scan(deployment), *progress, assumption.tenants(deployment, TENANT_WRITE), UNFENCEABLE))


def _scan(deployment: Deployment) -> Statement:
    return Statement(effect="Allow", sid="AcceptH1ScanToFindItems", actions=(SCAN,), resources=(deployment.table_arn,))


MIGRATOR = RoleDefinition(identity=identity, trust=trust.by_compute)
