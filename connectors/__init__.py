"""Thin faces over the flows."""
