# SPDX-License-Identifier: Apache-2.0
"""A20: a prompt, then one token after another. Scripted traces with known figures."""
import pathlib
import unittest

from scripted import Script, UNIX_START, temporary_folder, xsp, xsp_json

MS = 1_000_000


class GenerationsTest(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "trace.xsp"
        self.trace = Script()
        self.trace.experiment()
        self.trace.run(1, "M", 0)
        self.trace.track(1)
        self.trace.track(2, "other", thread=101)

    def call(self, start, duration, positions, batch=2, model="Decoder", track=1, signature=None):
        signature = signature or f"input_ids=int64[{batch},{positions}], position_ids=int64[{batch},{positions}]"
        self.trace.span(model, UNIX_START + start * MS, duration * MS, "model", track=track,
                        tags={"batch_size": batch, "model": model, "signature": signature})

    def ask(self):
        self.trace.write(self.file)
        answer = xsp_json("analyze", "A20", self.file, "--json")
        return [tuple(row.values()) for row in answer["rows"]], answer["summary"]

    def test_with_a_cache(self):
        """Two requests of one thread, and one of another thread meanwhile."""
        for start in (0, 1000):
            self.call(start, 100, 16)
            for token in range(4):  # 20 ms each, of which 5 are outside of the model
                self.call(start + 105 + 20 * token, 15, 1)
        self.call(50, 60, 8, batch=1, track=2)
        self.call(120, 30, 1, batch=1, track=2)
        rows, summary = self.ask()
        mine = (16, 5, 2, 100, 20, 20, 1000 * 10 / 180, 20, True)
        self.assertEqual(rows, [(0, *mine), (1, *mine), (2, 8, 2, 1, 60, 40, 40, 20, 10, True)])
        self.assertEqual({key: summary[key] for key in ("requests", "first_token_mean_ms", "first_token_p50_ms", "per_token_p50_ms")},
                         {"requests": 3, "first_token_mean_ms": 260 / 3, "first_token_p50_ms": 100, "per_token_p50_ms": 20})
        self.assertAlmostEqual(summary["tokens_per_s"], 1000 * 22 / 460, 9)

    def test_without_a_cache(self):
        """Each call has one position more. A prompt of another length begins a request."""
        for at, positions in enumerate((7, 8, 9, 30, 31)):
            self.call(100 * at, 50, positions)
        rows, _ = self.ask()
        self.assertEqual([row[1:3] + row[-1:] for row in rows], [(7, 3, False), (30, 2, False)])

    def test_embeddings_and_values_of_a_session(self):
        """Without ids, three axes; the type of a value that stays in ONNX Runtime."""
        for at, form in ((0, "inputs_embeds=float16[2,{},64]"), (1000, "ids=tensor(int64)[2,{}]")):
            for token, positions in enumerate((9, 1, 1)):
                self.call(at + 100 * token, 50, 0, signature=form.format(positions), model=form)
        self.assertEqual([row[1:3] for row in self.ask()[0]], [(9, 3), (9, 3)])

    def test_what_is_no_generation(self):
        """Equal calls, pictures, inputs with one feature, another model's call in between, and calls of one value."""
        for at in range(3):
            self.call(100 * at, 50, 16)
        self.call(400, 50, 0, signature="float32[2,1,8,8]")
        self.call(500, 50, 0, signature="float32[2,1,8,8]")
        for at in range(3):
            self.call(900 + 50 * at, 20, 0, signature="point=float32[32,1]")
        self.call(600, 50, 16)
        self.call(700, 50, 1, model="Other")
        self.call(800, 50, 0, signature="float32[2]")
        self.trace.write(self.file)
        self.assertIn(b"decoder", xsp("analyze", "A20", self.file, check=1).stderr)


if __name__ == "__main__":
    unittest.main()
