"""The one pool of worker processes."""

import time
from contextlib import closing
from multiprocessing import active_children

import pytest
from experiments.harness.parallel import as_done, in_order
from threadpoolctl import threadpool_info


def late_first(number):
    time.sleep(1.0 if number == 0 else 0.0)
    return 10 * number


def blas_threads(_):
    import numpy  # noqa: F401

    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def broken_or_long(number):
    if number:
        raise ZeroDivisionError
    time.sleep(600)


def test_results_come_in_the_order_of_the_jobs_and_progress_counts_all():
    said = []
    results = list(in_order(late_first, range(5), processes=2, progress=lambda *numbers: said.append(numbers)))
    assert results == [0, 10, 20, 30, 40]
    assert said == [(done, 5) for done in range(1, 6)]


def test_no_jobs_no_results():
    assert list(in_order(late_first, [])) == []


def test_workers_use_one_blas_thread():
    assert list(in_order(blas_threads, [0], processes=1)) == [{1}]


def test_a_bug_in_one_job_ends_the_others():
    began, others = time.monotonic(), set(active_children())
    with pytest.raises(ZeroDivisionError):
        list(in_order(broken_or_long, range(2), processes=2))
    assert time.monotonic() - began < 60
    assert set(active_children()) <= others


def test_whoever_stops_listening_stops_the_workers():
    others = set(active_children())  # of tests before, in this process
    with closing(as_done(late_first, range(50), processes=2)) as results:
        next(results)
    assert set(active_children()) <= others
