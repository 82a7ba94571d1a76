"""The connection to DynamoDB.

`client` sends one signed HTTP call. `caller` adds credentials, limits, metering and retries. `batches` splits many
items into calls. `error_codes` maps AWS error codes. `table_definition` creates tables.
"""
