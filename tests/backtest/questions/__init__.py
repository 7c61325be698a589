"""Tests of backtest/questions/."""
