"""Requests to the DynamoDB engine behind the gate: forwarded calls, and the gate's own reads of tables and items."""
