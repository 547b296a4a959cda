"""The coordinator's record of which contributions are in the state: append-only, signed, safe against crashes."""
