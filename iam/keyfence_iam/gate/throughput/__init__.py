"""The limits of partitions: what DynamoDB gives one partition key value in a second, and what of it is used."""
