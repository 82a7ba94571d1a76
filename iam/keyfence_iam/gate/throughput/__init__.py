"""The throughput limits of partitions, as in DynamoDB, and a report on the traffic of partitions."""
