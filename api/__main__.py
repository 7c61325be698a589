"""`python -m api`: print docs/api.md."""

from __future__ import annotations

import sys

from api.docs import api_page

if __name__ == "__main__":
    sys.stdout.write(api_page())
