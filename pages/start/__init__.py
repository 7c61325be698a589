"""Start: three questions, example jobs with their answers, recent results and saved views."""
