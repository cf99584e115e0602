"""The HTTP server: picks over REST, MCP over HTTP, and a proxy that adds context to model calls."""
