"""What users of notebooks see, in a kernel of its own."""

import pytest

SLOW = """
import time
from fedrcd.report.progress_bar import progress_bar
with progress_bar("adding <sums>", after=0.05) as bar:
    time.sleep(0.3)
    bar.say("round 2", 0.5)
    time.sleep(0.3)
"""
RESULT = """
import warnings
warnings.simplefilter("ignore")
import fedrcd
from fedrcd.data.examples import example_paths
fedrcd.discover(example_paths(), progress=True)
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The outputs of two cells."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in (SLOW, RESULT)])
    seen = []
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path_factory.mktemp("nb")}}
    )
    receive = client.process_message

    def remember(message, cell, index):
        if message["header"]["msg_type"] in {"display_data", "update_display_data"}:
            seen.append(message["content"]["data"].get("text/html", ""))
        return receive(message, cell, index)

    client.process_message = remember
    client.execute()
    return seen, notebook.cells[1].outputs


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning", "ignore::FutureWarning")
def test_a_notebook_shows_a_bar_that_moves_and_goes_away(outputs):
    bars, _ = outputs
    assert "<progress></progress> adding &lt;sums&gt;" in bars
    assert '<progress value="0.500"></progress> round 2' in bars
    assert bars[-1] == ""


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning", "ignore::FutureWarning")
def test_a_notebook_shows_a_discovery_as_a_picture_with_its_order(outputs):
    shown = outputs[1][-1]  # after the bar, if it took long
    assert shown.output_type == "execute_result"
    html = shown.data["text/html"]
    assert "<svg" in html
    assert "<b>order</b>: age, bmi" in html
    assert "3 sites, 3 rounds" in html
