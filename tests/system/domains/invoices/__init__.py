"""Invoices: a domain that is not part of the service and is added by KEYFENCE_DOMAINS."""
