"""How long? N epochs of a workload on each system, and how sure that is."""
