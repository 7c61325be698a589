"""Tests of backtest/accuracy/."""
