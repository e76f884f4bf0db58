# SPDX-License-Identifier: Apache-2.0
"""A program whose parts are known, for bench/truth.py: each function takes its time in one way. Prints the CPU time and the
waiting time of each, in ms, as the thread's own clocks have them."""
import collections
import ctypes
import hashlib
import json
import mmap
import random
import threading
import time

import numpy

ROUNDS = 100
numbers = numpy.random.default_rng(1).random(5000)
text = bytes(100_000)
asked, answered = threading.Semaphore(0), threading.Lock()
locked_ms = []


def interpret(amount):
    total = 0
    for number in range(int(60_000 * amount)):
        total = (total + number * number) % 1000003
    return total


def sort_numbers(amount):
    for _ in range(int(100 * amount)):
        numpy.sort(numbers)


def hash_bytes(amount):
    for _ in range(int(40 * amount)):
        hashlib.sha256(text).digest()


def touch_pages(amount):
    length = int(2000 * amount + 1) * mmap.PAGESIZE
    with mmap.mmap(-1, length) as pages:
        ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(pages)), 1, length)


def sleep_often(amount):
    for _ in range(int(2 * amount)):
        time.sleep(0.003)


def wait_for_lock(amount):
    for _ in range(int(2 * amount)):
        asked.release()
        began_ns = time.perf_counter_ns()
        answered.acquire()
        locked_ms.append((time.perf_counter_ns() - began_ns) / 1e6)


def answer_late():
    while True:
        asked.acquire()
        time.sleep(0.003)
        answered.release()


def main():
    answered.acquire()
    threading.Thread(target=answer_late, daemon=True).start()
    parts = [interpret, sort_numbers, hash_bytes, touch_pages, sleep_often, wait_for_lock]
    cpu_ms, waiting_ms = collections.Counter(), collections.Counter()
    for _ in range(ROUNDS):
        random.shuffle(parts)
        for part in parts:  # of another length each time: no period of a sampler fits it
            amount = random.uniform(0, 2)
            wall_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
            part(amount)
            cpu_ns, wall_ns = time.thread_time_ns() - cpu_ns, time.perf_counter_ns() - wall_ns
            cpu_ms[part.__name__] += cpu_ns / 1e6
            waiting_ms[part.__name__] += (wall_ns - cpu_ns) / 1e6
    waiting_ms["wait_for_lock"] = sum(locked_ms)  # to wake another thread may cost the processor
    print(json.dumps({"cpu_ms": cpu_ms, "waiting_ms": waiting_ms}))


main()
