"""Runs whose outcomes are recorded to the bit, to show that a change of the code moved nothing.

`runs` describes them in words, `adapters` knows how they are made, `runs.json` is what came of them. Record anew with
`python -m tests.golden.record --out FILE.json`, only some with `--transport grid`, and see what moved with
`python -m tests.golden.compare tests/golden/runs.json FILE.json`. Runs that are not portable repeat on one machine
only. Those in process are in a frame that is proposed from rows.
"""
