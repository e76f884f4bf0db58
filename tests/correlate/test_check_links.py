# SPDX-License-Identifier: Apache-2.0
"""xsp check --links: recorded parents and operators compared with those that correlate finds."""
import glob
import json
import os
import pathlib
import unittest

from scripted import Script, temporary_folder, xsp, xsp_json

DATA = pathlib.Path(os.environ["XSP_TEST_DATA"])
OUTCOMES = ("agree", "disagree", "only_recorded", "only_ours", "absent")


def counts(**given):
    return {outcome: given.get(outcome, 0) for outcome in OUTCOMES}


def of(links):
    return {outcome: links[outcome] for outcome in OUTCOMES}


def named_parents():
    """One link of each outcome, some with a basis of their own."""
    script = Script()
    script.experiment("named")
    script.run(1, "M/L", epoch="trace")
    script.track(1, "main")
    model = script.span("model", 0, 1000)
    outer = script.span("outer", 100, 500, "layer", parent=model)
    script.span("inner", 110, 100, "layer", parent=outer)
    script.span("wrong", 300, 100, "layer", parent=model)
    script.span("lost", 310, 10, "layer", parent=99)
    script.span("elsewhere", 5000, 10, "layer", parent=model)
    script.span("unsaid", 420, 10, "layer")
    script.span("said to have none", 440, 10, "layer", flags="basis=none")
    script.span("right to have none", 6000, 10, "layer", flags="basis=ambiguous")
    script.span("recorded with its basis", 460, 10, "layer", parent=outer, flags="basis=containment")
    return script


def external_ids(kernel_ids, operator_ids=(10, 20, 30)):
    """Three operators that launch a kernel each, with the external ids given; correlation ids are 1, 2, 3."""
    script = Script()
    script.experiment("external")
    script.run(1, "L/K", epoch="trace")
    script.track(1, "main")
    script.track(2, "stream", thread=None, device=0, stream=7)
    for number, (kernel_id, operator_id) in enumerate(zip(kernel_ids, operator_ids), 1):
        start = number * 1000
        script.span(f"op {number}", start, 500, "layer", tags={"external_id": operator_id})
        script.span("launch", start + 100, 50, "kernel", correlation=number, category="api", flags="call")
        tags = {"recorded_correlation": number, **({} if kernel_id is None else {"external_id": kernel_id})}
        script.span(f"kernel {number}", start + 5000, 100 * number, "kernel", "execution", track=2, correlation=number,
                    category="kernel", tags=tags)
    return script


class CheckLinks(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "trace.xsp")

    def check(self, script, status):
        script.write(self.path)
        return xsp_json("check", "--links", self.path, "--json", check=status)

    def test_named_parents(self):
        result = self.check(named_parents(), 1)
        expected = counts(agree=4, disagree=1, only_recorded=1, only_ours=2, absent=1)
        self.assertEqual(of(result), expected)
        (links,) = result["links"]
        self.assertEqual((links["run_id"], links["links"], of(links)), (1, "parents", expected))
        by = {(row["level"], row["basis"]): of(row) for row in links["by"]}
        self.assertEqual(by, {("layer", "containment"): counts(agree=3, disagree=1, only_ours=2, absent=1),
                              ("layer", "none"): counts(agree=1, only_recorded=1)})
        (example,) = links["examples"]
        self.assertEqual((example["name"], example["recorded_name"], example["our_name"], example["basis"]),
                         ("wrong", "model", "outer", "containment"))
        self.assertEqual((example["recorded_id"], example["our_id"]), (1, 2))
        text = xsp("check", "--links", self.path, check=1).stdout.decode()
        self.assertRegex(text, r"span 4 wrong .*1 model.*2 outer \(containment\)")

    def test_operators_that_agree_and_not(self):
        result = self.check(external_ids((10, 20, 30)), 0)
        self.assertEqual(of(result), counts(agree=3))
        (links,) = result["links"]
        self.assertEqual((links["links"], links["trap"]), ("operators", None))
        self.assertEqual(links["kernel_ns"], {"recorded": 600, "ours": 600, "all": 600})
        result = self.check(external_ids((10, 10, 30), operator_ids=(10, 10, 30)), 0)  # an id that two operators have
        self.assertEqual(of(result), counts(agree=3))
        result = self.check(external_ids((10, 30, None)), 1)
        self.assertEqual(of(result), counts(agree=1, disagree=1, only_ours=1))
        self.assertEqual(result["links"][0]["examples"][0]["recorded_name"], "op 3")

    def test_external_ids_that_are_correlation_ids_are_a_trap(self):
        result = self.check(external_ids((1, 2, 3), operator_ids=(5, 6, 2)), 0)  # one of them hits by accident
        self.assertEqual(of(result), counts())
        (links,) = result["links"]
        self.assertEqual(of(links), counts(absent=2, disagree=1))
        self.assertIn("correlation id", links["trap"])
        self.assertEqual(links["kernel_ns"], {"recorded": 200, "ours": 600, "all": 600})
        self.assertIn("operator", xsp("check", "--links", self.path, check=0).stdout.decode())
        # Equal numbers alone are no trap: the operators may have been numbered by the same counter.
        result = self.check(external_ids((1, 2, 3), operator_ids=(1, 2, 3)), 0)
        self.assertEqual((of(result), result["links"][0]["trap"]), (counts(agree=3), None))

    def test_a_trace_without_links_and_wrong_use(self):
        script = Script()
        script.experiment("plain")
        script.run(1, "M")
        script.track()
        script.span("model", 0, 10)
        result = self.check(script, 0)
        self.assertEqual((of(result), result["links"]), (counts(), []))
        self.assertIn("no recorded links", xsp("check", "--links", self.path, check=0).stdout.decode())
        xsp("check", "onnxruntime", "--links", self.path, check=2)
        xsp("check", "--links", self.path + ".nowhere", check=2)

    def test_numbers_that_link_nothing(self):
        # External ids of operators only: xsp finds three links, the file has none to compare them with.
        result = self.check(external_ids((None, None, None)), 0)
        self.assertEqual(of(result), counts(only_ours=3))
        self.assertEqual(xsp("check", "--links", self.path, check=0).stdout.decode().count("no recorded links"), 1)
        for form in ("csv", "json"):
            result = xsp("check", "--links", self.path, "--format", form, check=0)
            self.assertIn("no recorded links", result.stderr.decode())
            self.assertIn("only_ours", result.stdout.decode())
        self.check(external_ids((10, None, None)), 0)
        self.assertNotIn("no recorded links", xsp("check", "--links", self.path, check=0).stdout.decode())

    def check_real(self, pattern):
        files = glob.glob(str(DATA / pattern))
        if not files:
            self.skipTest(f"no {pattern} in {DATA} (XSP_TEST_DATA)")
        xsp("import", files[0], "-o", self.path, check=0)
        return json.loads(xsp("check", "--links", self.path, "--json", check=0).stdout)["links"]

    def test_real_external_ids_agree(self):
        for pattern, count in (("kineto/kineto__tb_plugin__samples__resnet50*", 8772),
                               ("kineto/hta__nccl_parser_config*", 2700)):
            with self.subTest(pattern):
                (links,) = self.check_real(pattern)
                self.assertEqual((links["trap"], links["disagree"]), (None, 0))
                self.assertGreaterEqual(links["agree"], count)
                self.assertEqual(links["kernel_ns"]["recorded"], links["kernel_ns"]["ours"])
                os.unlink(self.path)

    def test_the_real_trap(self):
        (links,) = self.check_real("kineto/hta__critical_path__alexnet*")
        self.assertIn("correlation id", links["trap"])
        self.assertEqual(links["kernel_ns"], {"recorded": 71_000, "ours": 10_692_000, "all": 10_692_000})


if __name__ == "__main__":
    unittest.main()
