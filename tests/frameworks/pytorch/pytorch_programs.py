# SPDX-License-Identifier: Apache-2.0
"""Programs that use PyTorch, for long_pytorch.py. Each prints what it computed; with an argument, it profiles a part of
itself with torch.profiler and writes what that saw to this file."""

START = """
import json, sys
import torch
from torch.profiler import ProfilerActivity, profile, record_function
torch.manual_seed(0)
torch.set_num_threads(1)

class Block(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(channels)
    def forward(self, x):
        return torch.relu(self.bn1(self.conv1(x)) + x)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 4, 3)
        self.layer1 = torch.nn.Sequential(Block(4), Block(4))
        self.fc = torch.nn.Linear(4, 10)
    def forward(self, x):
        return self.fc(self.layer1(self.conv1(x)).mean((2, 3)))

def save(profiler):
    events = [{"name": e.name(), "start": e.start_ns(), "duration": e.duration_ns(), "thread": e.start_thread_id(),
               "sequence": e.sequence_nr(), "forward": e.fwd_thread_id(), "scope": e.scope(), "bytes": e.nbytes(),
               "shapes": e.shapes(), "types": e.dtypes()} for e in profiler.profiler.kineto_results.events()]
    json.dump(events, open(sys.argv[1], "w"))

def profiled(function, **options):
    if len(sys.argv) < 2:
        return function()
    with profile(activities=[ProfilerActivity.CPU], **options) as profiler:
        with record_function("window"):
            function()
    save(profiler)
"""

TRAIN = START + """
from torch.utils.data import DataLoader, TensorDataset
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = DataLoader(TensorDataset(torch.randn(12, 3, 8, 8), torch.randint(0, 10, (12,))), batch_size=4)

def epoch():
    for x, y in data:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")

epoch()
profiled(epoch)
model.eval()
with torch.no_grad():
    print(model(torch.ones(2, 3, 8, 8)).sum().item())
"""

# An autograd function of the program's, a second derivative, a hook that runs operators, operators on several threads.
ODD = START + """
import threading

class Double(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2
    @staticmethod
    def backward(context, gradient):
        return gradient * 2

def work():
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda gradient: gradient.clone())
    y = Double.apply(x).pow(3).sum()
    first, = torch.autograd.grad(y, x, create_graph=True)
    first.sum().backward()
    print(x.grad)
    results = []
    def other():
        z = torch.ones(4, requires_grad=True)
        results.append((z * z).exp().sum())
    threads = [threading.Thread(target=other) for _ in range(2)]
    for thread in threads:
        thread.start()
        thread.join()
    for result in results:
        result.backward()
    try:
        torch.ones(2) @ torch.ones(3)
    except RuntimeError as error:
        print(error)
    script = torch.jit.trace(torch.nn.Linear(3, 3), torch.ones(1, 3))
    print(script(torch.ones(2, 3)).shape)
    graph = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()))
    for _ in range(4):  # later ones have one backward operator, of a forward operator that announces no number
        graph(torch.ones(2, 3)).sum().backward()

profiled(work)
"""

SHAPES = START + """
def work():
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    y = torch.nn.functional.conv2d(x, torch.randn(4, 3, 3, 3), padding=1, stride=(1, 2))
    z = torch.cat([y, y], 1).to(torch.bfloat16)
    torch.add(z, z, alpha=0.1), torch.full((2,), 1e20)
    torch.zeros(0), torch.ones(()), torch.arange(5), torch.full((2,), -0.0), torch.add(z, z, alpha=1/3)
    torch.sum(x, dim=[0, 1]).sum().backward()
    torch.ones(3)[torch.tensor([True, False, True])]
    torch.sparse_coo_tensor([[0, 1]], [1., 2.], (3,))
    torch.ones(2, 40).reshape([1] * 35 + [80])
    torch.ones(4, 5).t().contiguous()
    torch.einsum("ij,jk->ik", torch.ones(2, 2), torch.ones(2, 2))
    torch.nn.functional.interpolate(x.detach(), scale_factor=2.5)

work()
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
    with record_function("window"):
        work()
profiler.export_chrome_trace(sys.argv[1])
"""

WITHOUT_MODULES = """
import torch

x = torch.ones(4, requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.1)
for _ in range(3):
    (x * 2).sum().backward()
    optimizer.step()
"""

MEMORY = START + """
model = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
x = torch.randn(2, 4, 16)

def work():
    for _ in range(2):
        model(x).sum().backward()
    torch.empty(0)
    torch.empty(100).resize_(1000)

work()
with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
    with record_function("window"):
        work()
profiler.export_chrome_trace(sys.argv[1])
"""

# What traceback finds in the line of an operator, and in that of a forward operator whose backward operator runs later.
PATHS = START + """
import traceback
stacks = {}

def note(name):
    stacks[name] = [(frame.name, frame.lineno) for frame in traceback.extract_stack()[:-1]]

class Inner(torch.nn.Module):
    def forward(self, x):
        note("erf"); y = torch.erf(x)
        return y

class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        return self.inner(x)

class Own(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        note("trunc"); y = torch.trunc(x)
        return y
    @staticmethod
    def backward(context, gradient):
        note("round"); return torch.round(gradient)

def recursive(depth, x):
    if depth == 0:
        note("acosh"); return torch.acosh(x + 2)
    return recursive(depth - 1, x)

def generator(x):
    for _ in range(1):
        note("tan"); yield torch.tan(x)

x = torch.ones(3, requires_grad=True)
y = Own.apply(Outer()(x)) + recursive(30, x) + next(generator(x))
exec("note('sinh'); z = torch.sinh(x)")
y.sum().backward()
json.dump(stacks, open(sys.argv[1], "w"))
"""

# Modules that are called in unusual ways: each module's name is that of the operator's tag.
LAZY = """
import torch
looks = 0
class Lazy:
    @property
    def __class__(self):
        global looks
        looks += 1
        return torch.Tensor
class Net(torch.nn.Module):
    def forward(self, x, proxy):
        return proxy
for _ in range(3):
    Net()(torch.ones(2, 3), Lazy())
print(looks)
"""

MODULES = START + """
import copy

class Called(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = torch.nn.Linear(2, 2)
    def __call__(self, *arguments):
        return super().__call__(*arguments)
    def forward(self, x):
        return self.part(x)

class Failing(torch.nn.Module):
    def forward(self, x):
        raise ValueError

x = torch.ones(1, 2)
with torch.no_grad():
    for i in range(300):  # addresses are used again
        model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(2, 2)) if i % 2 else Called()
        model(x)
        del model
    model = Called()
    with record_function("called"):
        model(x)
    with record_function("part"):
        model.part(x)
    alone = torch.nn.Linear(2, 2)
    with record_function("alone"):
        alone(x)
    holder = torch.nn.ModuleDict({"a": torch.nn.Sequential(alone)})
    with record_function("held"):
        holder["a"](x)
    model.late = torch.nn.Linear(2, 2)
    Called.forward = lambda self, x: self.late(x)
    with record_function("late"):
        model(x)
    with record_function("copy"):
        copy.deepcopy(model)(x)
    try:
        Failing()(x)
    except ValueError:
        pass
    with record_function("after"):
        torch.nn.functional.linear(x, x)
print(len(model.state_dict()), model)
"""

WORKERS = START + """
import multiprocessing, os
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return torch.tensor(float(i)).square()

def work(i):
    return torch.full((2,), float(i)).cosh().sum().item()

if __name__ == "__main__":
    for batch in DataLoader(Squares(), batch_size=4, num_workers=2):
        print(batch)
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(1) as pool:
            print(pool.map(work, [1, 2]))
    child = os.fork()
    if child == 0:
        torch.ones(2).tanh()
        os._exit(0)
    os.waitpid(child, 0)
"""

COMPILED = START + """
import torch._dynamo
model = torch.compile(Net(), fullgraph=True, backend="eager")
x = torch.ones(2, 3, 8, 8)
for _ in range(3):
    model(x).sum().backward()
counters = torch._dynamo.utils.counters
print({name: dict(counters[name]) for name in ("stats", "graph_break")})
"""

# Linked against libtorch, without Python: PyTorch's C functions.
LINKED = """
#include <stdint.h>
#include <stdio.h>
typedef void *tensor;
int32_t aoti_torch_empty_strided(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, tensor *);
int32_t aoti_torch_zero_(tensor);
int32_t aoti_torch_delete_tensor_object(tensor);
int main(void)
{
  const int64_t sizes[] = {4, 4}, strides[] = {4, 1};
  for (int i = 0; i < 3; i++) {
    tensor made;
    if (aoti_torch_empty_strided(2, sizes, strides, 6, 0, 0, &made) != 0)
      return 1;
    printf("%d\\n", aoti_torch_zero_(made));
    aoti_torch_delete_tensor_object(made);
  }
  return 0;
}
"""

COMPILE = START + """
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
fast = torch.compile(model, backend="aot_eager", fullgraph=True)
x = torch.randn(3, 4)

def call(name):
    with record_function(name):
        loss = fast(x).square().sum()
        loss.backward()
    print(f"{name}: {loss.item():.6f} {model[0].weight.grad.sum().item():.6f}")

call("first")
profiled(lambda: call("second"))
torch._dynamo.reset()
call("after reset")
"""

# Arguments: Inductor's cache, and what to do in another way.
INDUCTOR = """
import os, sys
changed = sys.argv[2:]
os.environ.update(TORCHINDUCTOR_CACHE_DIR=sys.argv[1], TORCHINDUCTOR_COMPILE_THREADS="1",
                  TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=str(int("announce" in changed)))
import torch
torch.manual_seed(0)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last, self.act = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2), torch.nn.ReLU()
    def forward(self, x):
        h = self.first(x).sin()             # A
        h = h * 2.0 + h.cos()               # B
        return self.act(self.last(h))       # C

if "keep" in changed:
    from torch._inductor.async_compile import AsyncCompile
    real = AsyncCompile.cpp_pybinding
    AsyncCompile.cpp_pybinding = lambda *arguments: (lambda function: lambda *given: function(*given))(real(*arguments))
model = Net()
fast = torch.compile(model, fullgraph=True)
x = torch.randn(3, 4)
for i in range(2):
    model.zero_grad()
    with torch.profiler.record_function(f"call {i}"):
        loss = fast(x).square().sum()
        loss.backward()
    print(f"{loss.item():.6f} {model.first.weight.grad.sum().item():.6f}")
"""
