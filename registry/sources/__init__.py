"""Where skills come from besides a plain folder: one module a kind, and the set that names several."""
