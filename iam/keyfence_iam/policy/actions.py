"""IAM actions of DynamoDB and STS, in the groups in which policies allow or deny them."""

LEADING_KEYS = "dynamodb:LeadingKeys"
"""The condition key whose values are the partition keys of a request."""

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
"""Actions that copy the items of a whole table to another place, or many items into a table."""

KEYED_ITEM_ACTIONS = (*READS, *WRITES)
"""Item actions for which DynamoDB sends the partition keys to IAM, as dynamodb:LeadingKeys."""

ITEM_ACTIONS = (*KEYED_ITEM_ACTIONS, SCAN, *PARTIQL, VECTOR_SEARCH)
"""All actions that read or write items of a table."""

TABLE_SETUP_ACTIONS = (
    "dynamodb:CreateTable",
    "dynamodb:DescribeTable",
    "dynamodb:UpdateTable",
    "dynamodb:DescribeTimeToLive",
    "dynamodb:UpdateTimeToLive",
    "dynamodb:DescribeContinuousBackups",
    "dynamodb:UpdateContinuousBackups",
)
"""Actions that create a table, or give an existing table the settings of its definition."""

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
"""Actions that change or delete a table or its backups."""

ASSUME_ROLE = "sts:AssumeRole"
TAG_SESSION = "sts:TagSession"
