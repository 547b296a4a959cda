"""The notebooks of the documentation run from their first cell to their last, and hold no output of their own."""

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.outputs for cell in cells] == [[]] * len(cells)
    nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    said = "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain", "") for cell in cells for output in cell.outputs
    )
    assert "age" in said
    if path.stem == "three-hospitals":
        assert [cell.outputs[-1].data["text/plain"] for cell in cells if "order ==" in cell.source] == ["True"]
        assert "fits nonlinear functions to rows" in said
        assert (tmp_path / "three-hospitals.html").exists()
