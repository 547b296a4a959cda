"""Flower as the transport: the only part that imports it. `flwr` is pinned exactly, for it moves between releases."""
