"""The transport to DynamoDB: calls with credentials, limits, metering and retries."""
