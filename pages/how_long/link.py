"""The first page under its own name: /how-long shows what / shows."""

from pages.how_long.page import show

show()
