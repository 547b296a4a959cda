"""How far confidence, checks and prior knowledge can be relied on: one module per table of docs/trust.md."""
