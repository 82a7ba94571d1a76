"""Holes that a policy text can show, each with a name, the statement and the fix."""

from iam.lint.checks import lint
from iam.lint.finding import Finding
from iam.lint.reading import lint_text

__all__ = ["Finding", "lint", "lint_text"]
