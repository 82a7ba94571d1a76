"""provisioner: makes the table what its definition says, and sees none of its items."""

from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Policy, Statement
from keyfence_iam.policies import trust
from keyfence_iam.policies.actions import MAKING
from keyfence_iam.policies.fence import NO_DATA
from keyfence_iam.policies.role import RoleDefinition


def identity(deployment: Deployment) -> Policy:
    making = Statement(effect="Allow", sid="MakeTheTable", actions=MAKING, resources=(deployment.table_arn,))
    return Policy(statements=(making, NO_DATA))


PROVISIONER = RoleDefinition(identity=identity, trust=trust.by_the_account)
