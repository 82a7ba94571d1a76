"""`Deployment`: the account, region, tables and role names of one installation of Keyfence."""

from dataclasses import dataclass

from keyfence_iam import arns

LOCAL_ACCOUNT = "000000000000"
LOCAL_REGION = "us-east-1"
"""The account and the region of a local gate, which has no AWS account behind it."""


def silo_table(table: str, tenant: str) -> str:
    """Returns the name of a tenant's silo.

    The tenant id is at the end, so a policy can name the silo of acme without a wildcard after the id. Such a wildcard
    would also match the silo of acme-1.
    """
    return f"{table}-silo-{tenant}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """One installation of Keyfence: a shared table in one region of one account, silos of tenants, and IAM roles."""

    account: str = LOCAL_ACCOUNT
    region: str = LOCAL_REGION
    table: str = "keyfence"
    role_prefix: str = "keyfence-"
    partition: str = "aws"
    indexes: tuple[str, ...] = ("GSI1", "GSI2", "GSI3")
    """The global secondary indexes of each table."""
    compute_services: tuple[str, ...] = ("ecs-tasks.amazonaws.com",)
    """The AWS services that may run processes with one of the service roles."""

    @property
    def table_arn(self) -> str:
        return self._table_arn(self.table)

    def index_arn(self, index: str) -> str:
        return arns.index_arn(self.table_arn, index)

    def silo_table(self, tenant: str) -> str:
        return silo_table(self.table, tenant)

    def silo_arn(self, tenant: str) -> str:
        """Returns the ARN of a tenant's silo. In policies, `tenant` can also be a policy variable or a wildcard."""
        return self._table_arn(self.silo_table(tenant))

    def role_arn(self, role: str) -> str:
        """Returns the ARN of a role. `role` is the name without the prefix."""
        return arns.role_arn(f"{self.role_prefix}{role}", account=self.account, partition=self.partition)

    def boundary_arn(self, role: str) -> str:
        """Returns the ARN of the permissions boundary of a role. `role` is the name without the prefix."""
        return arns.boundary_arn(f"{self.role_prefix}{role}", account=self.account, partition=self.partition)

    def _table_arn(self, table: str) -> str:
        return arns.table_arn(table, region=self.region, account=self.account, partition=self.partition)
