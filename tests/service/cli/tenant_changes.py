"""The commands that change a tenant, with the options that each needs."""

CHANGES: dict[str, list[str]] = {
    "suspend": ["--reason", "unpaid"],
    "resume": [],
    "rename": ["--name", "Other"],
    "tier": ["FREE"],
    "quotas": ["--users", "5"],
    "keys": ["--jwks-uri", "https://id.example/keys"],
}
