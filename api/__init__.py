"""The HTTP interface: what the pages answer, for programs. It knows the planner and Starlette."""
