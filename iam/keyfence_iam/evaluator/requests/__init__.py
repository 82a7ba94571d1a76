"""Calls to DynamoDB as the questions that they put to IAM."""

from keyfence_iam.evaluator.requests.expansion import UNDERSTOOD, expand, tables_named
from keyfence_iam.evaluator.requests.index_values import index_values
from keyfence_iam.evaluator.requests.place import Place
from keyfence_iam.evaluator.requests.refusal import NotUnderstood, UnknownTable
from keyfence_iam.evaluator.requests.table_keys import TableKeys

__all__ = [
    "UNDERSTOOD",
    "NotUnderstood",
    "Place",
    "TableKeys",
    "UnknownTable",
    "expand",
    "index_values",
    "tables_named",
]
