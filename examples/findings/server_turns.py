# SPDX-License-Identifier: Apache-2.0
"""F40, threads that take turns: a server's threads hold a lock while they wait for a store. Mended: only around the model."""
import contextlib
import threading
import time

import torch
from steps import MENDED, timed

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).eval()
lock = threading.Lock()


def handle():
    with contextlib.nullcontext() if MENDED else lock:  # bad
        time.sleep(0.01)  # a store
        with lock if MENDED else contextlib.nullcontext(), torch.no_grad():
            model(torch.ones(4, 64))


def serve():
    for _ in range(10):
        handle()


def requests():
    threads = [threading.Thread(target=serve) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


timed(requests, 80)
