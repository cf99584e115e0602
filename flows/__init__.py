"""What runs: one file per flow."""
