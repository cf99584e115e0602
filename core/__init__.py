"""PickySteve: picks the one skill that a request needs, or abstains."""
