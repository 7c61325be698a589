"""What training programs write of their own runs, and the template to fill in."""
