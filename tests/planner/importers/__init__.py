"""Tests of importers, on small files made by hand."""
