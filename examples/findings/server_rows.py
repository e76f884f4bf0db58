# SPDX-License-Identifier: Apache-2.0
"""F42, single rows: one thread predicts row by row what eight others ask for. Mended: all that wait, at once."""
import concurrent.futures
import queue
import threading

import torch
from steps import MENDED, timed

model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(6)]).eval()
asked = queue.Queue()


def predict():
    for first in iter(asked.get, None):
        some = [first]
        while MENDED and not asked.empty():
            some.append(asked.get())
        with torch.inference_mode():
            scores = model(torch.stack([row for row, _ in some]))  # bad
        for score, (_, answer) in zip(scores, some):
            answer.set_result(score)


def ask(_):
    answer = concurrent.futures.Future()
    asked.put((torch.ones(512), answer))
    return answer.result()


def requests():
    worker = threading.Thread(target=predict)
    worker.start()
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        list(clients.map(ask, range(400)))
    asked.put(None)
    worker.join()


timed(requests, 400)
