"""Tests of processes apart."""
