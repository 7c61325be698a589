"""One child process, supervised: its events, its limits, and an end with a reason."""
