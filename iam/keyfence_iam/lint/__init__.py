"""Holes that a policy text can show, each with a name, the statement and the fix."""

from keyfence_iam.lint.checks import lint
from keyfence_iam.lint.finding import Finding
from keyfence_iam.lint.reading import lint_text

__all__ = ["Finding", "lint", "lint_text"]
