"""Changes of many items while the service runs: passes over the table that can be torn at any place and taken up."""
