"""Start: three questions, jobs of today with their answers, recent results and saved views."""
