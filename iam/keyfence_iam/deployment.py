"""Where Keyfence is deployed: the account, the region, the table and the names that its ARNs are made of."""

from dataclasses import dataclass

LOCAL_ACCOUNT = "000000000000"
LOCAL_REGION = "us-east-1"


def silo_table(table: str, tenant: str) -> str:
    """The table of this tenant alone, beside the one that all share. Nothing follows the tenant: acme-1 has one too."""
    return f"{table}-silo-{tenant}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """One table in one region of one account, its tenants' silos, and the prefix that its roles' names share."""

    account: str = LOCAL_ACCOUNT
    region: str = LOCAL_REGION
    table: str = "keyfence"
    role_prefix: str = "keyfence-"
    partition: str = "aws"
    compute: tuple[str, ...] = ("ecs-tasks.amazonaws.com",)
    """The AWS services that may run a process as one of the roles."""

    @property
    def table_arn(self) -> str:
        return self._table_arn(self.table)

    def index_arn(self, index: str) -> str:
        return f"{self.table_arn}/index/{index}"

    def silo_table(self, tenant: str) -> str:
        return silo_table(self.table, tenant)

    def silo_arn(self, tenant: str) -> str:
        """Of the tenant's own table; the tenant may also be the policy variable that stands for it."""
        return self._table_arn(self.silo_table(tenant))

    def role_arn(self, role: str) -> str:
        return self.named_role_arn(f"{self.role_prefix}{role}")

    def named_role_arn(self, name: str) -> str:
        """Of any role of the account, by the name that it has there."""
        return f"arn:{self.partition}:iam::{self.account}:role/{name}"

    def boundary_arn(self, role: str) -> str:
        """Of the managed policy that bounds this role."""
        return f"arn:{self.partition}:iam::{self.account}:policy/{self.role_prefix}{role}-boundary"

    def _table_arn(self, table: str) -> str:
        return f"arn:{self.partition}:dynamodb:{self.region}:{self.account}:table/{table}"
