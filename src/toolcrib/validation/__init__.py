"""Proves that a tool behaves: what ``toolcrib check`` runs."""
