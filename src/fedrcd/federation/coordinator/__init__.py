"""The coordinator's side of a run over machines: gather replies, accept them, combine them, and keep what came of it.

Nothing here knows of a site's rows or rules of its own: what both sides share are messages and the federation file.
"""
