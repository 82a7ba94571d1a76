"""IAM actions of DynamoDB and STS, in the groups in which policies allow or deny them."""

LEADING_KEYS = "dynamodb:LeadingKeys"
"""The condition key whose values are the partition keys of a request."""

READ_ACTIONS = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")
WRITE_ACTIONS = (
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:ConditionCheckItem",
)
INDEX_READ_ACTIONS = ("dynamodb:Query",)

SCAN = "dynamodb:Scan"
PARTIQL_ACTIONS = (
    "dynamodb:PartiQLSelect",
    "dynamodb:PartiQLInsert",
    "dynamodb:PartiQLUpdate",
    "dynamodb:PartiQLDelete",
)
VECTOR_SEARCH = "dynamodb:SearchVectors"
STREAM_READ_ACTIONS = ("dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords")
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

KEYED_ITEM_ACTIONS = (*READ_ACTIONS, *WRITE_ACTIONS)
"""Actions whose calls always name a partition key. DynamoDB passes the keys to IAM as dynamodb:LeadingKeys."""

ITEM_ACTIONS = (*KEYED_ITEM_ACTIONS, SCAN, *PARTIQL_ACTIONS, VECTOR_SEARCH)
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
