"""The local STS."""

from iam.gate.query.declined import Declined
from iam.gate.sts.assume_role import assume
from iam.gate.sts.assumption import Assumption
from iam.gate.sts.operations import OPERATIONS, answer, operation

__all__ = ["OPERATIONS", "Assumption", "Declined", "answer", "assume", "operation"]
