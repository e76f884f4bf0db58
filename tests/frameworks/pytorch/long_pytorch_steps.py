# SPDX-License-Identifier: Apache-2.0
"""The tracer of PyTorch: where training steps begin and end, what is a prediction, and with which inputs."""
import unittest

import long_pytorch
from run_programs import sql
from scripted import xsp_json

START = """
import torch
from torch import nn

torch.set_num_threads(1)

def small():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

def sgd(*models):
    return torch.optim.SGD([p for model in models for p in model.parameters()], lr=0.01)

def train(model, optimizer, steps, batch=3):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(batch, 4)).sum().backward()
        optimizer.step()
        torch.randn(50, 50) @ torch.randn(50, 50)  # the loop's own work, such as a metric

def predict(model, times):
    model.eval()
    with torch.no_grad():
        for _ in range(times):
            model(torch.randn(5, 4))
    model.train()
"""
LOOPS = START + """
model = small()
optimizer = sgd(model)
train(model, optimizer, 3)
predict(model, 2)  # a validation: the next step begins a loop
train(model, optimizer, 2)
other = small()
train(other, sgd(other), 2)  # another model: a loop of its own
"""
PAIR = START + """
first, second = small(), small()
one, two = sgd(first), sgd(second)
for _ in range(3):  # as a GAN does
    train(first, one, 1)
    train(second, two, 1)
"""
TEACHER = START + """
model, teacher = small(), small()
optimizer = sgd(model)
for _ in range(4):
    predict(teacher, 1)
    train(model, optimizer, 1)
"""
ACCUMULATED = START + """
model = small()
optimizer = sgd(model)
for _ in range(2):
    for _ in range(3):
        model(torch.randn(3, 4)).sum().backward()
    optimizer.step()
"""
GAN = START + """
generator, critic = nn.Linear(2, 4), small()
for_generator, for_critic = sgd(generator), sgd(critic)
for _ in range(3):
    critic(torch.randn(3, 4)).sum().backward()
    made = generator(torch.randn(3, 2))
    critic(made.detach()).sum().backward()
    for_critic.step()
    critic(made).sum().backward()
    for_generator.step()
"""
CLOSURES = START + """
model = small()
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
inputs = torch.randn(3, 4)
def closure():
    optimizer.zero_grad()
    loss = model(inputs).pow(2).sum()
    loss.backward()
    return loss
for _ in range(3):
    optimizer.step(closure)
"""
BY_HAND = START + """
model = small()
for _ in range(4):
    model.zero_grad()
    model(torch.randn(6, 4)).sum().backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.01 * p.grad
"""
GRADIENTS = START + """
model = small()  # neither eval() nor no_grad()
for _ in range(40):
    model(torch.randn(7, 4))
"""
INPUTS = """
import torch
from torch import nn

class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
    def forward(self, *arguments, **keywords):
        return self.weight

model = Odd().eval()
with torch.no_grad():
    model(torch.ones(2, 3), torch.ones((), dtype=torch.int64))
    model(3, [torch.ones(9)], x=torch.ones(4, 5, dtype=torch.bool), cache=(torch.ones(1),))
    model(input_ids=torch.ones(2, 1, dtype=torch.int64), attention_mask=torch.ones(2, 17, dtype=torch.int64))
    model(input_ids=torch.ones(2, 8, dtype=torch.int64), attention_mask=torch.ones(2, 8, dtype=torch.int64))
    model()
"""
PADDED = """
import torch
from torch import nn

class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
    def forward(self, ids, attention_mask=None):
        return self.weight

model = Odd().eval()
ids = torch.arange(40).view(4, 10)
ids[0, 6:] = 0
ids[2, 8:] = 0
mask = torch.ones(4, 10, dtype=torch.bool)
mask[:, 7:] = False
with torch.no_grad():
    model(ids)
    model(ids[1:, :9])  # not one after the other in memory
    model(ids[2:])
    model(ids, attention_mask=mask)
    model(torch.rand(4, 10))
    model(torch.ones(4, 10, dtype=torch.int64, device="meta"))
"""
LOADERS = START + """
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, index):
        return torch.randn(4).cosh()

class Endless(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter([torch.ones(4)] * 6)

model = small()
optimizer = sgd(model)
for workers in (0, 2):
    for batch in DataLoader(Rows(), batch_size=3, num_workers=workers):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
for batch in DataLoader(Endless(), batch_size=3):
    model(batch)
"""
COUNTED = START + """
import time
model = small()
optimizer = sgd(model)
times = [time.time_ns()]
for _ in range(5):
    optimizer.zero_grad()
    model(torch.randn(3, 4)).sum().backward()
    times.append(time.time_ns())
    optimizer.step()
    torch.randn(300, 300) @ torch.randn(300, 300)
times.append(time.time_ns())
print(*times)
"""
CLOCKS_NS = 10_000  # between the clock that the program looks at and the ticks of spans, made times afterwards
TAGS = "".join(f", (select value from tag where run_id = s.run_id and span_id = s.span_id and key = '{key}') as {key}"
               for key in ("batch_size", "step_samples", "model", "signature"))


class Steps(long_pytorch.Case):
    def models(self, text):
        _, path = self.traced([self.python, self.program(text)], "--levels", "A/M")
        return sql(path, f"select s.name, s.start_ns, s.end_ns{TAGS} from span s where s.level = 'model' order by s.start_ns")

    def steps(self, text):
        return [model for model in self.models(text) if model["name"] == "training step"]

    def tiles(self, steps):
        """Of each step but the first: whether it begins where the one before ended; else it begins later."""
        for before, step in zip(steps, steps[1:]):
            self.assertGreaterEqual(step["start_ns"], before["end_ns"])
        return [step["start_ns"] == before["end_ns"] for before, step in zip(steps, steps[1:])]

    def test_loops(self):
        """Steps tile their loop. A validation and another model begin one."""
        models = self.models(LOOPS)
        steps = [model for model in models if model["name"] == "training step"]
        self.assertEqual(self.tiles(steps), [True, True, False, True, False, True])
        self.assertEqual([model["name"] for model in models], ["training step"] * 3 + ["Sequential"] * 2 + ["training step"] * 4)
        self.assertGreaterEqual(steps[3]["start_ns"], models[4]["end_ns"])
        self.assertEqual({(step["model"], step["batch_size"], step["signature"]) for step in steps},
                         {("Sequential", 3, "float32[3,4]")})

    def test_steps_and_coverage_are_those_of_the_program(self):
        """The program counts its steps, and looks at the clock within each: they cover its loop, and nothing else."""
        printed, path = self.traced([self.python, self.program(COUNTED)], "--levels", "A/M")
        start_ns, *within_ns, end_ns = map(int, printed.split())
        steps = sql(path, "select start_ns, end_ns from span where level = 'model' order by start_ns")
        self.assertEqual(len(steps), len(within_ns))
        for step, time_ns in zip(steps, within_ns):
            self.assertLess(step["start_ns"], time_ns + CLOCKS_NS)
            self.assertGreater(step["end_ns"], time_ns - CLOCKS_NS)
        self.assertLess(start_ns, steps[0]["start_ns"] + CLOCKS_NS)
        self.assertLess(steps[-1]["end_ns"], end_ns + CLOCKS_NS)
        self.assertTrue(all(self.tiles(steps)))
        program, = sql(path, "select end_ns - start_ns as ns from span where level = 'application' and parent_id is null")
        covered_ns = steps[-1]["end_ns"] - steps[0]["start_ns"]
        self.assertAlmostEqual(xsp_json("analyze", "A1", path, "--json")["summary"]["covered_pct"],
                               100 * covered_ns / program["ns"], places=6)

    def test_alternating_optimizers(self):
        """Steps of two kinds make one loop, once both were seen."""
        self.assertEqual(self.tiles(self.steps(PAIR)), [False, True, True, True, True])

    def test_predictions_in_each_step(self):
        self.assertEqual(self.tiles(self.steps(TEACHER)), [True, True, True])

    def test_accumulated_gradients(self):
        steps = self.steps(ACCUMULATED)
        self.assertEqual(self.tiles(steps), [True])
        self.assertEqual([(step["batch_size"], step["step_samples"]) for step in steps], [(3, 9), (3, 9)])

    def test_several_passes_over_the_same_samples(self):
        for program, count in ((GAN, 6), (CLOSURES, 3)):
            self.assertEqual([(step["batch_size"], step["step_samples"]) for step in self.steps(program)],
                             [(3, None)] * count)

    def test_no_optimizer(self):
        """A step ends where the next one begins, the last one with its backward pass."""
        steps = self.steps(BY_HAND)
        self.assertEqual(self.tiles(steps), [True, True, True])
        self.assertEqual({step["batch_size"] for step in steps}, {6})

    def test_predictions_with_gradients(self):
        models = self.models(GRADIENTS)
        self.assertEqual([(model["name"], model["batch_size"]) for model in models], [("Sequential", 7)] * 40)

    def test_data_loaders(self):
        """Each batch is a span of its data set's function, in the process that makes it. Operators there are no layers."""
        program = self.program(LOADERS)
        _, path = self.traced([self.python, program], "--levels", "A/M/L")
        answer = xsp_json("analyze", "A19", path, "--json")
        lines = {line.strip(): number for number, line in enumerate(LOADERS.splitlines(), 1)}
        self.assertEqual([(row["function"], row["file"], row["line"], row["count"]) for row in answer["rows"]], [
            ("Rows.__getitem__", str(program), lines["def __getitem__(self, index):"], 8),
            ("Endless.__iter__", str(program), lines["def __iter__(self):"], 3)])  # the last call finds the end
        self.assertEqual((answer["summary"]["batches"], answer["summary"]["workers"]), (11, 2))
        cosh = sql(path, "select category, count(*) as n, count(observation) as observed from span where name = 'aten::cosh' "
                         "group by 1")
        self.assertEqual([tuple(row.values()) for row in cosh], [("input", 24, 12)])
        layers = {row["layer_name"] for row in xsp_json("analyze", "A2", path, "--json")["rows"]}
        self.assertIn("aten::linear", layers)
        self.assertFalse(layers & {"aten::cosh", "aten::stack"})

    def test_signatures(self):
        """Tensors that are passed themselves, and no mask of a cache."""
        self.assertEqual([(model["batch_size"], model["signature"]) for model in self.models(INPUTS)], [
            (2, "float32[2,3], int64[]"), (4, "x=bool[4,5]"), (2, "input_ids=int64[2,1]"),
            (2, "input_ids=int64[2,8], attention_mask=int64[2,8]"), (None, None)])

    def test_padding(self):
        """Of the positions of token ids, those that are padding, and those in columns of padding; of a mask, if there is one."""
        _, path = self.traced([self.python, self.program(PADDED)], "--levels", "A/M")
        tags = sql(path, "select s.start_ns, t.key, t.value from span s left join tag t on t.run_id = s.run_id and "
                         "t.span_id = s.span_id and t.key in ('positions', 'padded', 'spare') where s.level = 'model' "
                         "order by 1")
        calls = {}
        for tag in tags:
            calls.setdefault(tag["start_ns"], {}).update({tag["key"]: tag["value"]} if tag["key"] else {})
        self.assertEqual([(call.get("positions"), call.get("padded"), call.get("spare")) for call in calls.values()], [
            (40, 6, 0), (None, None, None), (20, 2, 0), (40, 12, 12), (None, None, None), (None, None, None)])


if __name__ == "__main__":
    unittest.main()
