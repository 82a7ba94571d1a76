"""The demo data of `keyfence dev`: two tenants with users, groups, products and orders of eight months."""
