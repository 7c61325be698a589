"""From a TOML file to the cases of a sweep: factors, rules, and what this host can measure."""
