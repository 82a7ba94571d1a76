"""DynamoDB engines for one machine: dynoxide and moto."""
