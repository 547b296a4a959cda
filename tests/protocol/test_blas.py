import threading

import numpy as np
from threadpoolctl import threadpool_info

from fedrcd.protocol.blas import one_blas_thread


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_conversations_that_overlap_leave_the_threads_as_they_were():
    np.linalg.norm(np.ones(2))  # the library is there
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def first():
        with one_blas_thread():
            entered.set()
            leave.wait(30)

    thread = threading.Thread(target=first)
    thread.start()
    assert entered.wait(30)
    with one_blas_thread():
        leave.set()
        thread.join()
    assert blas_threads() == before


def test_a_conversation_has_one_thread_of_blas():
    np.linalg.norm(np.ones(2))
    with one_blas_thread():
        assert set(blas_threads()) == {1}
