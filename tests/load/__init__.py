"""Many people at once on the real app: how fast it answers, and whether every answer is right.

`python -m tests.load`, which is `make load`, prints the table; test_load.py is its short form.
"""
