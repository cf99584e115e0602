"""One file per stage of the request flow."""
