"""The cases of a sweep one after the other: measured, recorded, resumed, and forecast."""
