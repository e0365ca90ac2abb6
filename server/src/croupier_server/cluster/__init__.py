"""Many processes and machines: gateways, workers and managers, joined by NATS (docs/cluster.md)."""
