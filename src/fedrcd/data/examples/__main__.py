"""Write the bundled example files anew."""

from __future__ import annotations

from pathlib import Path

from fedrcd.data.examples.three_hospitals import write_examples

if __name__ == "__main__":
    for path in write_examples(Path(__file__).parent):
        print(path.name)
