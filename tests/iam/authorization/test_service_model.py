"""Every operation of the SDK is supported or deliberately rejected, and every parameter of item calls is known."""

import botocore.session
import pytest
from botocore.model import OperationModel, ServiceModel, StructureShape

from keyfence_iam.authorization import SUPPORTED_OPERATIONS
from keyfence_iam.dynamodb import operations

REJECTED_OPERATIONS = {
    "search by vectors, which has no condition keys": {"SearchVectors"},
    "bulk writes, which have no condition keys": {
        "StartBulkPutItems",
        "DescribeBulkOperation",
        "ListBulkOperations",
        "CancelBulkOperation",
    },
    "backups, exports and imports, which hold whole tables": {
        "CreateBackup",
        "DescribeBackup",
        "DeleteBackup",
        "ListBackups",
        "RestoreTableFromBackup",
        "RestoreTableToPointInTime",
        "ExportTableToPointInTime",
        "DescribeExport",
        "ListExports",
        "ImportTable",
        "DescribeImport",
        "ListImports",
    },
    "tables in several regions": {
        "CreateGlobalTable",
        "DescribeGlobalTable",
        "DescribeGlobalTableSettings",
        "ListGlobalTables",
        "UpdateGlobalTable",
        "UpdateGlobalTableSettings",
        "DescribeTableReplicaAutoScaling",
        "UpdateTableReplicaAutoScaling",
    },
    "other ways out of a table": {
        "EnableKinesisStreamingDestination",
        "DisableKinesisStreamingDestination",
        "UpdateKinesisStreamingDestination",
        "ListContributorInsights",
    },
}

SERVICES: list[ServiceModel] = [
    botocore.session.get_session().get_service_model(name) for name in ("dynamodb", "dynamodbstreams")
]
MODELS: dict[str, OperationModel] = {
    name: service.operation_model(name) for service in SERVICES for name in service.operation_names
}


def test_every_operation_is_either_supported_or_deliberately_rejected() -> None:
    rejected = set().union(*REJECTED_OPERATIONS.values())
    assert set(MODELS) == SUPPORTED_OPERATIONS | rejected
    assert not SUPPORTED_OPERATIONS & rejected


@pytest.mark.parametrize("operation", sorted(operations.PARAMETERS))
def test_the_parameters_of_an_item_operation_are_those_of_the_service_model(operation: str) -> None:
    shape = MODELS[operation].input_shape
    assert shape is not None
    assert operations.PARAMETERS[operation] == set(shape.members)


@pytest.mark.parametrize(
    ("shape", "known"),
    [
        ("KeysAndAttributes", operations.KEYS_AND_ATTRIBUTES_MEMBERS),
        ("PutRequest", operations.PUT_REQUEST_MEMBERS),
        ("DeleteRequest", operations.DELETE_REQUEST_MEMBERS),
        ("Get", operations.GET_MEMBERS),
        ("BatchStatementRequest", operations.BATCHED_STATEMENT_MEMBERS),
        ("ParameterizedStatement", operations.TRANSACTED_STATEMENT_MEMBERS),
        *operations.TRANSACTION_WRITE_MEMBERS.items(),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_members_of_a_part_of_a_call_are_those_of_the_service_model(shape: str, known: frozenset[str]) -> None:
    modelled = SERVICES[0].shape_for(shape)
    assert isinstance(modelled, StructureShape)
    assert known == set(modelled.members)
