import time

from fedrcd.report.progress_bar import progress_bar


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


def test_a_long_task_says_what_it_does_on_stderr(capfd):
    said = []

    def heard():
        said.append(capfd.readouterr().err)
        return "counting" in "".join(said)

    with progress_bar("counting", after=0.01):
        wait_for(heard)
    assert "counting" in "".join(said)


def test_a_short_task_says_nothing(capfd):
    with progress_bar("counting", after=60) as bar:
        bar.say("still counting")
    assert capfd.readouterr().err == ""
