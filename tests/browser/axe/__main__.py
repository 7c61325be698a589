"""`python -m tests.browser.axe` installs axe-core."""

import sys

from tests.browser.axe import main

sys.exit(main())
