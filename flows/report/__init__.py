"""The report of a run: one HTML page that needs neither network nor script, and the same in words."""
