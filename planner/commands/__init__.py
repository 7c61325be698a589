"""The commands of `python -m planner`, one file each."""
