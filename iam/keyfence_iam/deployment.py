"""`Deployment`: the account, region, table and role names from which ARNs are built."""

from dataclasses import dataclass

from keyfence_iam import arns

LOCAL_ACCOUNT = "000000000000"
LOCAL_REGION = "us-east-1"


def silo_table(table: str, tenant: str) -> str:
    """Returns the name of a tenant's own table. The id ends the name: acme and acme-1 have different tables."""
    return f"{table}-silo-{tenant}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A shared table in one region of one account, the silo tables of its tenants, and the prefix of its role names."""

    account: str = LOCAL_ACCOUNT
    region: str = LOCAL_REGION
    table: str = "keyfence"
    role_prefix: str = "keyfence-"
    partition: str = "aws"
    indexes: tuple[str, ...] = ("GSI1", "GSI2", "GSI3")
    """The global secondary indexes that each of the tables has."""
    compute: tuple[str, ...] = ("ecs-tasks.amazonaws.com",)
    """The AWS services whose processes may run as one of the service roles."""

    @property
    def table_arn(self) -> str:
        return self._table_arn(self.table)

    def index_arn(self, index: str) -> str:
        return arns.index_arn(self.table_arn, index)

    def silo_table(self, tenant: str) -> str:
        return silo_table(self.table, tenant)

    def silo_arn(self, tenant: str) -> str:
        """Returns the ARN of a tenant's own table. `tenant` can also be a policy variable or a wildcard."""
        return self._table_arn(self.silo_table(tenant))

    def role_arn(self, role: str) -> str:
        return arns.role_arn(f"{self.role_prefix}{role}", account=self.account, partition=self.partition)

    def boundary_arn(self, role: str) -> str:
        """Returns the ARN of the managed policy that is this role's permissions boundary."""
        return arns.boundary_arn(f"{self.role_prefix}{role}", account=self.account, partition=self.partition)

    def _table_arn(self, table: str) -> str:
        return arns.table_arn(table, region=self.region, account=self.account, partition=self.partition)
