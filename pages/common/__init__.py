"""What several pages share: the link, the store, widgets, downloads, the choice of a workload."""
