"""The domains: one folder for each noun of the API, with everything of it."""
