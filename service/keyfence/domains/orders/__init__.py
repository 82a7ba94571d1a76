"""Orders of a tenant: placed, moved through their states, reviewed, and kept in a bin before they go."""
