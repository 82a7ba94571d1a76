"""Calls to DynamoDB as the questions that they put to IAM."""

from iam.evaluator.requests.expansion import UNDERSTOOD, expand, tables_named
from iam.evaluator.requests.index_values import index_values
from iam.evaluator.requests.place import Place
from iam.evaluator.requests.refusal import NotUnderstood, UnknownTable
from iam.evaluator.requests.table_keys import TableKeys

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
