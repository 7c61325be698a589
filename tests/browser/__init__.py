"""Proofs in a real Chromium on the real app."""
