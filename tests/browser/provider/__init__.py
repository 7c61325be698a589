"""A login provider for tests, as organisations run them: Django with Django OAuth Toolkit."""

from typing import Final

CLIENT: Final = "epochwise"
CLIENT_SECRET: Final = "of-the-client"  # noqa: S105 - of a provider on loopback
PASSWORD: Final = "a password of this test"  # noqa: S105
