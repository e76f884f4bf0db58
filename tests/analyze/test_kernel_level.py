# SPDX-License-Identifier: Apache-2.0
"""--kernel-level library: a trace with library calls answers as the same trace with kernels on the CPU would."""
import json
import pathlib
import unittest

from scripted import UNIX_START, Script, temporary_folder, xsp, xsp_json

KERNEL_ANALYSES = ("A8", "A10", "A11", "A13", "A15")
CALLS = [("convolution", 0, 400), ("reorder", 450, 100), ("sgemm", 1100, 300)]


def trace(level, category, with_more=False):
    script = Script()
    script.experiment()
    for run_id, levels in ((1, "M"), (2, f"M/L/{'Lib' if level == 'library' else 'K'}")):
        script.run(run_id, levels, batch=2)
        script.track(run_id=run_id)
        for repetition in range(4):
            zero = UNIX_START + repetition * 10_000 + run_id * 10**6
            script.span("net", zero, 2000 + repetition, run_id=run_id, tags={"batch_size": 2})
            if run_id == 1:
                continue
            for index, (layer, start, duration) in enumerate((("conv", 0, 1000), ("linear", 1050, 400))):
                script.span(layer, zero + start, duration, level="layer", run_id=run_id,
                            tags={"layer_index": index, "layer_type": layer})
            for name, start, duration in CALLS:
                script.span(name, zero + start, duration + repetition, level=level, category=category, run_id=run_id,
                            tracer="itt")
            if with_more:
                script.span("pack", zero + 20, 50, level="library", run_id=run_id)  # a part of the convolution
                script.span("allocate", zero + 30, 0, level="library", category="memory", run_id=run_id)
    return script


class KernelLevel(unittest.TestCase):
    def answers(self, script, name, *options):
        path = script.write(self.folder / name)
        return [xsp_json("analyze", one, path, "--json", *options) for one in KERNEL_ANALYSES]

    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_calls_answer_as_kernels(self):
        kernels = self.answers(trace("kernel", "kernel"), "kernels.xsp")
        calls = self.answers(trace("library", None, with_more=True), "calls.xsp", "--kernel-level", "library")
        self.assertEqual([row["kernel_name"] for row in kernels[0]["rows"]], [name for name, _, _ in CALLS])
        for expected, found in zip(kernels, calls):
            note, *others = [text for text in found["notes"] if "--kernel-level library" in text]
            self.assertEqual(others, [])
            self.assertEqual([text.replace("M/L/Lib", "M/L/K") for text in found["notes"] if text != note], expected["notes"])
            as_kernels = json.loads(json.dumps([found["rows"], found["summary"]]).replace("M/L/Lib", "M/L/K"))
            self.assertEqual(as_kernels, [expected["rows"], expected["summary"]], expected["analysis"])

    def test_parts_on_other_threads_are_no_calls(self):
        """Of one primitive its parts are inside it; while two run, a part could be in either."""
        script = Script()
        script.experiment()
        script.run(1, "M/L/Lib")
        for thread in (1, 2, 3):
            script.track(thread, f"thread {thread}", process=100, thread=100 + thread)
        script.span("net", UNIX_START, 1000)
        for track in (1, 2):
            script.span(f"conv {track}", UNIX_START + 100 * track, 700, level="layer", track=track)
            script.span("convolution", UNIX_START + 100 * track + 10, 600, level="library", tracer="itt", track=track)
        for start in (120, 400):  # in one, in two
            script.span("convolution", UNIX_START + start, 50, level="library", tracer="itt", track=3)
        table = xsp_json("analyze", "A10", script.write(self.folder / "parts.xsp"), "--json", "--kernel-level", "library")
        self.assertEqual([(row["count"], row["latency_ms"]) for row in table["rows"]], [(2, 0.0012)])

    def test_kernels_are_asked_for_by_name(self):
        path = trace("library", None).write(self.folder / "calls.xsp")
        for options in ((),):
            self.assertIn(b"--kernel-level library", xsp("analyze", "A8", path, *options, check=1).stderr)
        path = trace("kernel", "kernel").write(self.folder / "kernels.xsp")
        xsp("analyze", "A8", path, "--kernel-level", "library", check=1)


if __name__ == "__main__":
    unittest.main()
