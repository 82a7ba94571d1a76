"""Where Keyfence is deployed: the account, the region, the table and the names that its ARNs are made of."""

from dataclasses import dataclass

LOCAL_ACCOUNT = "000000000000"
LOCAL_REGION = "us-east-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """One table in one region of one account, and the prefix that its roles' names share."""

    account: str = LOCAL_ACCOUNT
    region: str = LOCAL_REGION
    table: str = "keyfence"
    role_prefix: str = "keyfence-"
    partition: str = "aws"
    compute: tuple[str, ...] = ("ecs-tasks.amazonaws.com",)
    """The AWS services that may run a process as one of the roles."""

    @property
    def table_arn(self) -> str:
        return f"arn:{self.partition}:dynamodb:{self.region}:{self.account}:table/{self.table}"

    def index_arn(self, index: str) -> str:
        return f"{self.table_arn}/index/{index}"

    def role_arn(self, role: str) -> str:
        return self.named_role_arn(f"{self.role_prefix}{role}")

    def named_role_arn(self, name: str) -> str:
        """Of any role of the account, by the name that it has there."""
        return f"arn:{self.partition}:iam::{self.account}:role/{name}"

    def boundary_arn(self, role: str) -> str:
        """Of the managed policy that bounds this role."""
        return f"arn:{self.partition}:iam::{self.account}:policy/{self.role_prefix}{role}-boundary"
