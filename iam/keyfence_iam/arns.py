"""Functions that build the ARNs of tables, indexes, streams, roles, permissions boundaries, accounts and sessions."""


def table_arn(table: str, *, region: str, account: str, partition: str) -> str:
    return f"arn:{partition}:dynamodb:{region}:{account}:table/{table}"


def index_arn(table_arn: str, index: str) -> str:
    return f"{table_arn}/index/{index}"


def stream_arn(table_arn: str, label: str) -> str:
    return f"{table_arn}/stream/{label}"


def role_arn(role_name: str, *, account: str, partition: str) -> str:
    """Returns the ARN of a role. `role_name` includes the role prefix of the deployment."""
    return f"arn:{partition}:iam::{account}:role/{role_name}"


def boundary_arn(role_name: str, *, account: str, partition: str) -> str:
    """Returns the ARN of the managed policy that is the permissions boundary of this role."""
    return f"arn:{partition}:iam::{account}:policy/{role_name}-boundary"


def account_root_arn(*, account: str, partition: str) -> str:
    """Returns the ARN that stands for all principals of an account in a trust policy."""
    return f"arn:{partition}:iam::{account}:root"


def session_arn(role_name: str, session_name: str, *, account: str, partition: str) -> str:
    """Returns the ARN of a session that AssumeRole issued."""
    return f"arn:{partition}:sts::{account}:assumed-role/{role_name}/{session_name}"


def partition_and_account(arn: str) -> tuple[str, str]:
    """Returns the AWS partition (`aws`, `aws-cn`, ...) and the account id in an ARN."""
    _, partition, _, _, account, _ = arn.split(":", 5)
    return partition, account
