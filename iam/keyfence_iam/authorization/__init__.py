"""Calls to DynamoDB as the questions that they put to IAM."""

from keyfence_iam.authorization.arns import Place
from keyfence_iam.authorization.expansion import UNDERSTOOD, UnknownTable, expand, tables_named
from keyfence_iam.dynamodb.index_keys import index_values
from keyfence_iam.dynamodb.parameters import NotUnderstood
from keyfence_iam.dynamodb.table_schema import TableKeys

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
