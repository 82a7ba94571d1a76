"""migrator: finds what to move or purge by scanning, keeps its progress, makes silos, and changes items as a tenant."""

from keyfence_iam.boundary import CONTROL
from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Policy, Statement
from keyfence_iam.policies import assumption, trust
from keyfence_iam.policies.actions import ADMINISTRATION, MAKING, READS, SCAN, WRITES
from keyfence_iam.policies.fence import UNFENCEABLE, indexes_of, inside
from keyfence_iam.policies.names import CONTROL_PLANE, TENANT_MIGRATION, WARDEN
from keyfence_iam.policies.role import RoleDefinition

MIGRATIONS = f"{CONTROL}MIGRATION#"
ANY_TENANT = "*"
REMOVING = "dynamodb:DeleteTable"


def identity(deployment: Deployment) -> Policy:
    progress = inside((deployment.table_arn,), MIGRATIONS, (*READS, *WRITES))
    becoming = (
        assumption.tenants(deployment, TENANT_MIGRATION),
        assumption.untagged(deployment, CONTROL_PLANE, WARDEN),
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


MIGRATOR = RoleDefinition(identity=identity, trust=trust.by_compute)
