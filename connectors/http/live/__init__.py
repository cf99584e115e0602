"""The live page of `pickysteve serve`: requests stepping through the stages, as server-sent events."""
