"""Tests in this folder need Flower; the environment of the reference packages does not have it."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("flwr") else ["test_*.py"]
