"""The large counts behind the tests, a file per subject; `python -m tests.verification` writes docs/verification.md."""
