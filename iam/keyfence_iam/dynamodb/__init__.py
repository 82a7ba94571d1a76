"""Facts of DynamoDB: the meaning and the cost of requests. This package does not use IAM and does no I/O."""

from keyfence_iam.dynamodb.capacity import Partition, consumed_units, read_units, write_units
from keyfence_iam.dynamodb.item_size import item_size, stored_size
from keyfence_iam.dynamodb.request_parameters import UnsupportedRequest
from keyfence_iam.dynamodb.table_schema import TableSchema

__all__ = [
    "Partition",
    "TableSchema",
    "UnsupportedRequest",
    "consumed_units",
    "item_size",
    "read_units",
    "stored_size",
    "write_units",
]
