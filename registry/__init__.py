"""What a skill is, and the index on disk."""
