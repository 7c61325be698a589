"""Tests of pages/steps_to_target/."""
