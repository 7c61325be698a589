"""Bring in results of other programs: files, what they do not say, preview, commit, withdrawal."""
