"""`AwsAccess` opens the connections of a process to DynamoDB, STS and IAM. `Connections` contains them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from keyfence.app.domain_loading import load_domains
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.settings import Settings
from keyfence.store.cursor import CursorCodec
from keyfence.store.dynamodb.client import ConnectionOptions, DynamoDbClient
from keyfence.store.dynamodb.credentials import MigratorCredentials, ProcessCredentials, TenantCredentials
from keyfence.store.dynamodb.table_definition import SiloTables
from keyfence.store.index_tags import IndexTags
from keyfence.store.table_handles import CredentialProvider, Tables
from keyfence.tenancy.suspensions import IamSuspensions, PublishSuspensions
from keyfence_iam.credentials import Credentials
from keyfence_iam.roles.names import MIGRATOR, SERVICE_BASE
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_refresh import RefreshSchedule
from keyfence_iam.sts.sts_client import StsClient
from keyfence_iam.suspension import TenantSuspension
from keyfence_iam.token_bucket import call_budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """The open connections of one process.

    `migrator` is set if the process may also move and delete items of tenants, as the jobs of `keyfence dev` do."""

    settings: Settings
    tables: Tables
    sessions: SessionCache
    publish_suspensions: PublishSuspensions
    migrator: MigratorAccess | None = None

    def close(self) -> None:
        self.tables.client.close()
        self.sessions.close()
        if self.migrator:
            self.migrator.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsAccess:
    """How to connect to AWS, or to the local gate in its place.

    `app/production.py` and `app/local_development.py` create this value. `connect_sts` and `process_credentials` take
    the name of the role that the process runs as. On AWS the environment of the process defines the role, so the
    functions of `app/production.py` ignore the name."""

    settings: Settings
    dynamodb: ConnectionOptions
    refresh: RefreshSchedule
    connect_sts: Callable[[str], StsClient]
    process_credentials: Callable[[str], ProcessCredentials]
    connect_iam: Callable[[Credentials], TenantSuspension]

    def connect(self) -> Connections:
        """Opens the connections of a server, or of a command with the permissions of a server."""
        sessions = self.open_sessions()
        return Connections(
            settings=self.settings,
            tables=self._tables(self.dynamodb, TenantCredentials(sessions)),
            sessions=sessions,
            publish_suspensions=IamSuspensions(sessions, self.connect_iam),
        )

    def connect_migrator(self) -> MigratorAccess:
        """Opens the connections of a process that runs as the migrator: the role that may move and delete items."""
        sessions, migrator_credentials = self.open_sessions(MIGRATOR), self.process_credentials(MIGRATOR)
        projections = load_domains(self.settings.domains).entities.projections
        return MigratorAccess(
            tables=self._tables(self.dynamodb, MigratorCredentials(sessions)),
            scan_credentials=migrator_credentials,
            silos=SiloTables(self.dynamodb, self.settings.table, projections, migrator_credentials),
            publish_suspensions=IamSuspensions(sessions, self.connect_iam),
            sessions=sessions,
            settle_time=timedelta(seconds=self.settings.settle_seconds),
            tenant_cache_seconds=self.settings.tenant_cache_seconds,
            tenant_use_seconds=self.settings.tenant_use_seconds,
        )

    def open_sessions(self, role: str = SERVICE_BASE) -> SessionCache:
        """Returns a cache of STS sessions for tenants. The process requests the sessions with the credentials of
        `role`."""
        settings = self.settings
        return SessionCache(
            self.connect_sts(role),
            schedule=self.refresh,
            budget=call_budget(settings.sts_calls_per_second),
            max_sessions=settings.max_sessions,
        )

    def _tables(self, dynamodb: ConnectionOptions, credentials: CredentialProvider) -> Tables:
        return Tables(
            client=DynamoDbClient(dynamodb),
            name=self.settings.table,
            cursors=CursorCodec(self.settings.cursor_secrets),
            index_tags=IndexTags(self.settings.index_secret),
            credentials=credentials,
            entities=load_domains(self.settings.domains).entities,
        )
