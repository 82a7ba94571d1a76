"""Builds the application of `keyfence dev` on one machine: with the local gate, its table and the demo tenants."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from starlette.applications import Starlette

from keyfence import log
from keyfence.app.aws_connections import AwsAccess
from keyfence.app.composition_root import Service
from keyfence.app.domain_loading import load_domains
from keyfence.local.demo.load import load_demo
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.local.role_credentials import boto_session_for
from keyfence.local.sign_in import SIGN_IN_PATH, SignIn
from keyfence.settings import Settings
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.dynamodb.credentials import ProcessCredentials
from keyfence.store.dynamodb.table_definition import TableAdmin
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.roles.names import PROVISIONER
from keyfence_iam.sts.session_refresh import RefreshSchedule
from keyfence_iam.sts.sts_client import StsClient
from keyfence_iam.suspension import TenantSuspension

READ_TIMEOUT_SECONDS = 10.0
"""The read timeout of calls to the gate, unless KEYFENCE_READ_TIMEOUT_SECONDS is set.

It is longer than for AWS, because a developer's machine can be busy."""

SESSION_TIMEOUT_SECONDS = 60.0
"""How long a request may wait for an STS session. The settle time need not include this wait, because a request without
a session sends no call to DynamoDB."""


def application(settings: Settings, issuer: SessionIssuer, token_issuer: DevelopmentIssuer) -> Starlette:
    """Returns the ASGI application of `keyfence dev`. It also runs jobs as the migrator: the role that may move and
    delete items of tenants. Its GraphiQL page gets tokens of `token_issuer`."""
    log.configure(as_json=settings.log_json)
    aws = aws_access(settings, issuer)
    connections = replace(aws.connect(), migrator=aws.connect_migrator())
    sign_in = SignIn(token_issuer, connections.tables)
    return Service(connections, sign_in_path=SIGN_IN_PATH, more_routes=sign_in.routes()).app


def aws_access(settings: Settings, issuer: SessionIssuer) -> AwsAccess:
    """Returns access to the local gate, which accepts the sessions of this issuer."""
    settings = with_local_timeout(settings)
    account = issuer.account
    return AwsAccess(
        settings=settings,
        dynamodb=connection_options(settings),
        refresh=RefreshSchedule(session_seconds=settings.session_seconds, max_wait_seconds=SESSION_TIMEOUT_SECONDS),
        connect_sts=lambda role: StsClient.connect(
            boto_session_for(role, issuer),
            account.role_arn_prefix,
            settings.table,
            region=settings.region,
            endpoint_url=settings.sts_endpoint_url,
            read_timeout_seconds=SESSION_TIMEOUT_SECONDS,
        ),
        process_credentials=lambda role: ProcessCredentials(boto_session_for(role, issuer)),
        connect_iam=partial(
            TenantSuspension.connect,
            role_prefix=account.role_prefix,
            region=settings.region,
            endpoint_url=settings.iam_endpoint_url or settings.endpoint_url,
        ),
    )


async def prepare_table(settings: Settings, issuer: SessionIssuer, on_progress: Callable[[str], None]) -> None:
    """Creates the table and the demo tenants, unless they exist."""
    on_progress("creating the table")
    await asyncio.to_thread(create_table, settings, issuer)
    connections = aws_access(settings, issuer).connect()
    await load_demo(connections.tables, on_progress)
    connections.close()


def create_table(settings: Settings, issuer: SessionIssuer) -> None:
    """Creates the table, with the role that may create tables. Raises TableDiffers if the table exists with another
    definition."""
    credentials = issuer.issue_service_session(PROVISIONER).credentials
    projections = load_domains(settings.domains).entities.projections
    admin = TableAdmin.connect(connection_options(settings), settings.table, projections, credentials)
    admin.create()
    admin.check()


def with_local_timeout(settings: Settings) -> Settings:
    """Returns the settings with the read timeout of calls to the gate.

    The settle time is computed from the read timeout. So a job waits long enough for the slowest call to the gate."""
    if "read_timeout_seconds" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"read_timeout_seconds": READ_TIMEOUT_SECONDS})


def connection_options(settings: Settings) -> ConnectionOptions:
    return ConnectionOptions(
        region=settings.region,
        endpoint_url=settings.endpoint_url,
        connections=settings.data_connections,
        connect_timeout_seconds=settings.connect_timeout_seconds,
        read_timeout_seconds=settings.read_timeout_seconds,
    )
