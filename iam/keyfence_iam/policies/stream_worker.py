"""stream-worker: reads every change of the table, and writes what follows from it as the tenant concerned."""

from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Policy, Statement
from keyfence_iam.policies import assumption, trust
from keyfence_iam.policies.actions import STREAM_READS
from keyfence_iam.policies.fence import EVERYTHING, NO_DATA
from keyfence_iam.policies.names import TENANT_WRITE
from keyfence_iam.policies.role import RoleDefinition


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
