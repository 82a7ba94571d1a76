"""The actions that policies speak of, in the groups that they are granted or refused in."""

READS = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")
WRITES = (
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:ConditionCheckItem",
)
INDEX_READS = ("dynamodb:Query",)

SCAN = "dynamodb:Scan"
PARTIQL = ("dynamodb:PartiQLSelect", "dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate", "dynamodb:PartiQLDelete")
VECTOR_SEARCH = "dynamodb:SearchVectors"
STREAM_READS = ("dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords")
TABLE_COPY_ACTIONS = (
    "dynamodb:ExportTableToPointInTime",
    "dynamodb:CreateBackup",
    "dynamodb:RestoreTableFromBackup",
    "dynamodb:RestoreTableToPointInTime",
    "dynamodb:ImportTable",
    "dynamodb:EnableKinesisStreamingDestination",
    "dynamodb:UpdateKinesisStreamingDestination",
    "dynamodb:StartBulkPutItems",
)
"""Calls that carry items in or out by the table, not by the partition."""

KEYED_ITEM_ACTIONS = (*READS, *WRITES)
"""Item calls that DynamoDB tells IAM the partition keys of."""

ITEM_ACTIONS = (*KEYED_ITEM_ACTIONS, SCAN, *PARTIQL, VECTOR_SEARCH)
"""Every call that reads or writes items of a table."""

TABLE_SETUP_ACTIONS = (
    "dynamodb:CreateTable",
    "dynamodb:DescribeTable",
    "dynamodb:UpdateTable",
    "dynamodb:DescribeTimeToLive",
    "dynamodb:UpdateTimeToLive",
    "dynamodb:DescribeContinuousBackups",
    "dynamodb:UpdateContinuousBackups",
)
"""Calls that make a table what its definition says."""

TABLE_ADMIN_ACTIONS = (
    "dynamodb:CreateTable",
    "dynamodb:UpdateTable",
    "dynamodb:DeleteTable",
    "dynamodb:UpdateTimeToLive",
    "dynamodb:UpdateContinuousBackups",
    "dynamodb:DeleteBackup",
    "dynamodb:UpdateGlobalTable",
    "dynamodb:UpdateTableReplicaAutoScaling",
    "dynamodb:DeleteTableReplica",
    "dynamodb:DeleteResourcePolicy",
    "dynamodb:DisableKinesisStreamingDestination",
)
"""Calls that change or end the table itself, or what is kept of it."""

ASSUME_ROLE = "sts:AssumeRole"
TAG_SESSION = "sts:TagSession"
