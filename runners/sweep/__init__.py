"""Running a sweep: measure, record, resume and forecast its cases."""
