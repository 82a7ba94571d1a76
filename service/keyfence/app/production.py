"""Checks the settings, and builds the application of `keyfence serve` on AWS."""

from collections.abc import Callable, Iterator
from functools import partial

from starlette.applications import Starlette

from keyfence import log
from keyfence.app.aws_connections import AwsAccess
from keyfence.app.composition_root import Service
from keyfence.app.domain_loading import load_domains
from keyfence.app.process_tuning import tune_process
from keyfence.auth.token_verifier import operator_verifier, tenant_verifier
from keyfence.domain import BadDomains
from keyfence.settings import BadSettings, Settings, load_settings
from keyfence.settings_checks import production_problems
from keyfence.store.dynamodb.client import ConnectionOptions, DynamoDbClient
from keyfence.store.dynamodb.credentials import ProcessCredentials
from keyfence.store.dynamodb.endpoint import find_default_region
from keyfence.store.dynamodb.table_definition import AWS_ERRORS
from keyfence_iam.boto_session import default_boto_session
from keyfence_iam.sts.session_refresh import RefreshSchedule
from keyfence_iam.sts.sts_client import StsClient
from keyfence_iam.suspension import TenantSuspension


def application() -> Starlette:
    """Returns the application of `keyfence serve`. Raises BadSettings if the settings are not fit for production."""
    settings = load_settings()
    if problems := production_problems(settings) or startup_problems(settings):
        raise BadSettings(tuple(problems))
    log.configure(as_json=settings.log_json)
    service = Service(aws_access(settings).connect())
    tune_process()
    return service.app


def aws_access(settings: Settings) -> AwsAccess:
    """Returns access to AWS with the credentials that boto3 finds in the environment."""
    region = settings.region or find_default_region()
    return AwsAccess(
        settings=settings,
        dynamodb=_connection_options(settings),
        refresh=RefreshSchedule(session_seconds=settings.session_seconds),
        connect_sts=lambda _role: _connect_sts(settings),
        process_credentials=lambda _role: ProcessCredentials(default_boto_session()),
        connect_iam=partial(
            TenantSuspension.connect,
            role_prefix=(settings.role_arn_prefix or "").rpartition("/")[2],
            region=region,
            endpoint_url=settings.iam_endpoint_url,
        ),
    )


def startup_problems(settings: Settings) -> list[str]:
    """Tries the steps of a server's start. Returns one line for each step that fails."""
    problems = []
    for name, run_step in _startup_steps(settings):
        try:
            run_step()
        except (ValueError, BadDomains, *AWS_ERRORS) as error:
            problems.append(f"{name}: {error}")
    return problems


def _startup_steps(settings: Settings) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "KEYFENCE_DOMAINS", lambda: load_domains(settings.domains)
    yield "KEYFENCE_ISSUERS", lambda: tenant_verifier(settings)
    yield "KEYFENCE_ADMIN_ISSUERS", lambda: operator_verifier(settings)
    yield "DynamoDB's endpoint", lambda: DynamoDbClient(_connection_options(settings)).close()
    yield "AWS credentials", lambda: _connect_sts(settings)


def _connection_options(settings: Settings) -> ConnectionOptions:
    return ConnectionOptions(
        region=settings.region or find_default_region(),
        endpoint_url=settings.endpoint_url,
        connections=settings.data_connections,
        connect_timeout_seconds=settings.connect_timeout_seconds,
        read_timeout_seconds=settings.read_timeout_seconds,
    )


def _connect_sts(settings: Settings) -> StsClient:
    return StsClient.connect(
        default_boto_session(),
        settings.role_arn_prefix or "",
        settings.table,
        region=settings.region or find_default_region(),
        endpoint_url=settings.sts_endpoint_url,
    )
