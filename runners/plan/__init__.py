"""From a TOML file to the cases of a sweep: factors, rules, capabilities of this host."""
