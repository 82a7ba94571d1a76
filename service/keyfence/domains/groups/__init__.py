"""Groups of users, and memberships."""
