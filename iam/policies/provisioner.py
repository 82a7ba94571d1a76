"""provisioner: makes the table what its definition says, and sees none of its items."""

from iam.deployment import Deployment
from iam.document import Policy, Statement
from iam.policies import trust
from iam.policies.actions import MAKING
from iam.policies.fence import NO_DATA
from iam.policies.role import RoleDefinition


def identity(deployment: Deployment) -> Policy:
    making = Statement(effect="Allow", sid="MakeTheTable", actions=MAKING, resources=(deployment.table_arn,))
    return Policy(statements=(making, NO_DATA))


PROVISIONER = RoleDefinition(identity=identity, trust=trust.by_the_account)
