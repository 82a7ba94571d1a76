"""The local STS."""

from keyfence_iam.gate.query.declined import Declined
from keyfence_iam.gate.sts.assume_role import assume
from keyfence_iam.gate.sts.assumption import Assumption
from keyfence_iam.gate.sts.operations import OPERATIONS, answer, operation

__all__ = ["OPERATIONS", "Assumption", "Declined", "answer", "assume", "operation"]
