"""Why a call cannot be put to IAM: it is not understood, or it names a table that nobody has described."""

from keyfence_iam.evaluator.authorisation import Authorisation


class NotUnderstood(Exception):
    """What the call asks for is not certain, and so it is denied."""


class UnknownTable(NotUnderstood):
    """Tables without a known key schema; `asked` is complete but for the leading keys of these."""

    def __init__(self, tables: frozenset[str], asked: tuple[Authorisation, ...]) -> None:
        super().__init__(f"unknown table: {', '.join(sorted(tables))}")
        self.tables = tables
        self.asked = asked
