"""The agents: a table of where each one keeps its MCP servers, and editors that add ours to it."""
