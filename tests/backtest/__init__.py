"""Tests of backtest/."""
