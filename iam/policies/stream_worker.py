"""stream-worker: reads every change of the table, and writes what follows from it as the tenant concerned."""

from iam.deployment import Deployment
from iam.document import Policy, Statement
from iam.policies import assumption, trust
from iam.policies.actions import STREAM_READS
from iam.policies.fence import EVERYTHING, NO_DATA
from iam.policies.names import TENANT_WRITE
from iam.policies.role import RoleDefinition


def identity(deployment: Deployment) -> Policy:
    return Policy(statements=(_reads(deployment), LISTING, assumption.tenants(deployment, TENANT_WRITE), NO_DATA))


def _reads(deployment: Deployment) -> Statement:
    return Statement(
        effect="Allow",
        sid="AcceptH19ChangesOfTheTable",
        actions=STREAM_READS,
        resources=(f"{deployment.table_arn}/stream/*",),
    )


LISTING = Statement(effect="Allow", sid="FindTheStream", actions=("dynamodb:ListStreams",), resources=EVERYTHING)
STREAM_WORKER = RoleDefinition(identity=identity, trust=trust.by_compute)
