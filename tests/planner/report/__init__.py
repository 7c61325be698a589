"""Tests of what is handed out."""
