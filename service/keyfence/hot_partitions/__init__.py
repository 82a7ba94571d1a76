"""Finds partitions near DynamoDB's limits in the traffic of all servers, and recommends or starts a reshard."""
