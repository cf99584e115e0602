"""The background engine: one warm process per user and settings, which the short-lived servers share."""
