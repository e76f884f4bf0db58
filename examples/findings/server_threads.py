# SPDX-License-Identifier: Apache-2.0
"""F41, few threads: one thread serves requests that mostly wait for a store. Mended: eight threads."""
import concurrent.futures
import time

import torch
from steps import MENDED, timed

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).eval()


def handle(_):
    time.sleep(0.01)  # bad
    with torch.no_grad():
        model(torch.ones(4, 64))


def requests():
    with concurrent.futures.ThreadPoolExecutor(max_workers=8 if MENDED else 1) as pool:
        list(pool.map(handle, range(80)))


timed(requests, 80)
