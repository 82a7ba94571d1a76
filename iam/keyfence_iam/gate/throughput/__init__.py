"""Throughput limits of partitions, as DynamoDB has them, and a report on their traffic."""
