"""Holes that a policy text can show, each with a name, the statement and the fix."""

from keyfence_iam.lint.linter import lint, lint_text
from keyfence_iam.lint.statement import Finding

__all__ = ["Finding", "lint", "lint_text"]
