"""Weaknesses that the text of a policy shows, each with a code, a name and a fix."""

from keyfence_iam.lint.findings import Finding
from keyfence_iam.lint.linter import lint, lint_text
from keyfence_iam.lint.tenant_layout import TenantLayout

__all__ = ["Finding", "TenantLayout", "lint", "lint_text"]
