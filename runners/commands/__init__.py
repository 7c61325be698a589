"""The command line: `python -m runners plan|run|resume|status|converge|describe ...`."""
