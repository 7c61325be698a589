"""What a run costs: the tests of planner/cost."""
