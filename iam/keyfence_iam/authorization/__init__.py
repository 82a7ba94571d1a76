"""The IAM authorization requests that a DynamoDB call needs."""

from keyfence_iam.authorization.call_authorization import (
    SUPPORTED_OPERATIONS,
    UnknownTable,
    authorizations_for,
    tables_needed,
)
from keyfence_iam.authorization.named_tables import ArnScope
from keyfence_iam.dynamodb.request_parameters import UnsupportedRequest
from keyfence_iam.dynamodb.table_schema import TableSchema
from keyfence_iam.dynamodb.written_index_keys import index_keys_written

__all__ = [
    "SUPPORTED_OPERATIONS",
    "ArnScope",
    "TableSchema",
    "UnknownTable",
    "UnsupportedRequest",
    "authorizations_for",
    "index_keys_written",
    "tables_needed",
]
