# SPDX-License-Identifier: Apache-2.0
"""The calling context tree: nodes with times of host and devices, and sets of nodes by what they are in training."""
import collections
import math


class Time(int):
    """Nanoseconds. Divided by zero it is infinite, or NaN where both are zero, so that a share never raises."""

    __slots__ = ()

    def __truediv__(self, other):
        if other:
            return int(self) / other
        return math.inf if self > 0 else math.nan

    def __rtruediv__(self, other):
        return Time(other) / int(self) if isinstance(other, int) else NotImplemented


class Unknown(float):
    """Not recorded: NaN, also divided by zero. Every comparison with it is false."""

    __slots__ = ()

    def __truediv__(self, other):
        return self

    def __rtruediv__(self, other):
        return self


UNKNOWN = Unknown("nan")
Pass = collections.namedtuple("Pass", "time")  # forward or backward


class Stalls(int):
    """Samples of instructions that waited; `reasons` has them by reason."""

    def __new__(cls, reasons):
        stalls = super().__new__(cls, sum(reasons.values()))
        stalls.reasons = reasons
        return stalls


class Reasons(list):
    """Names, most samples first; as a text joined by commas."""

    def __str__(self):
        return ", ".join(self)


def bfs(nodes):
    """A node, or nodes, and all below them, each once, callers before what they call."""
    given = dict.fromkeys([nodes] if isinstance(nodes, Node) else nodes)
    queue = collections.deque(node for node in given if not any(above in given for above in node._callers()))
    while queue:
        node = queue.popleft()
        yield node
        queue.extend(node.children)


def topk(stalls, k=3):
    """The names of the k reasons with most samples, over nodes or their stalls."""
    counts = collections.Counter()
    for item in stalls:
        counts.update(getattr(item, "stalls", item).reasons)
    return Reasons(reason for reason, samples in counts.most_common(k) if samples > 0)


def _time(value):
    return UNKNOWN if value is None else Time(value)


class Node:
    """A calling context: spans of equal names, called from equal places. Times are nanoseconds over the whole run."""

    __slots__ = ("tree", "_place")

    def __init__(self, tree, place):
        self.tree, self._place = tree, place

    def _get(self, name):
        return self.tree._columns[name][self._place]

    name = property(lambda self: self._get("name") or "")
    kind = property(lambda self: self._get("kind"), doc="python, framework, native, device; span: no frame of a call path")
    level = property(lambda self: self._get("level"))
    category = property(lambda self: self._get("category"))
    file = property(lambda self: self._get("file"))
    line = property(lambda self: self._get("line"))
    module = property(lambda self: self._get("module"), doc="of a native frame: its library")
    context_id = property(lambda self: self._get("context_id"), doc="in table `context`; None: not a frame")
    calls = property(lambda self: self._get("calls"), doc="spans of this node itself; 0: of frames between spans")
    count = property(lambda self: self._get("count"), doc="runs of kernels in it and below (docs/python.md)")
    time = property(lambda self: Time(self._get("time_ns")), doc="of devices where the run has work of them, else of the host")
    self_time = property(lambda self: Time(self._get("self_ns")), doc="time without that of its children")
    cpu_time = property(lambda self: Time(self._get("host_ns")))
    gpu_time = property(lambda self: _time(self._get("device_ns")), doc="UNKNOWN where no device worked in the run")

    def _parent_place(self):
        return self.tree._parents[self._place]

    @property
    def parent(self):
        place = self._parent_place()
        return None if place is None else self.tree._nodes[place]

    @property
    def children(self):
        return [self.tree._nodes[place] for place in self.tree._children[self._place]]

    def _callers(self):
        """The innermost first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def path(self):
        """The nodes from the root to this one."""
        return [self, *self._callers()][::-1]

    @property
    def source(self):
        """(file, line) of the innermost Python frame around it, or of itself, that is in no installed package; else of the
        innermost. (None, None): none is known."""
        known = [(node.file, node.line) for node in reversed(self.path) if node.file is not None and node.kind == "python"]
        own = [place for place in known if "-packages/" not in place[0] and not place[0].startswith("<")]
        return (own or known or [(self.file, self.line)])[0]

    @property
    def is_backward(self):
        """It is a part of a backward pass."""
        return self._place in self.tree._in_backward

    @property
    def forward(self):
        """What it takes in the forward pass; unknown in the backward pass."""
        return Pass(UNKNOWN if self.is_backward else self.time)

    @property
    def backward(self):
        """What its backward operators take, linked by forward_id; unknown where no link was recorded."""
        return Pass(self.time if self.is_backward else _time(self._get("backward_ns")))

    @property
    def metrics(self):
        """Sums of the context's metrics by name (table context_metric)."""
        return self.tree._metrics.get(self.context_id, {})

    @property
    def stalls(self):
        prefix, end = "samples_", "not_issued"
        return Stalls({name[len(prefix):]: value for name, value in self.metrics.items()
                       if name.startswith(prefix) and not name.endswith(end) and name != prefix + "selected"})

    def __eq__(self, other):
        return isinstance(other, Node) and self.tree is other.tree and self._place == other._place

    def __hash__(self):
        return hash((id(self.tree), self._place))

    def __repr__(self):
        return f"<{self.name} {self.time / 1e6:.3f} ms>"


class Tree:
    """The tree of one run. Sets of nodes are lists, callers first."""

    def __init__(self, trace, run_id, table):
        self.trace, self.run_id, self.findings = trace, run_id, []
        # Place 0 is the root, which is around all that has no caller.
        tops = [place for place, parent in enumerate(table["parent"]) if parent is None]
        self._parents = [None] + [0 if parent is None else parent + 1 for parent in table["parent"]]
        self._columns = {}
        for name in table.columns:
            column = table[name]
            is_sum = name == "count" or name.endswith("_ns")
            known = [column[place] for place in tops if is_sum and column[place] is not None]
            may_be_unknown = name in ("device_ns", "backward_ns")
            self._columns[name] = [sum(known) if known or (is_sum and not may_be_unknown) else None] + column
        self._leave_out_start()
        self._columns["name"][0] = "all"
        self._columns["self_ns"][0] = self._columns["calls"][0] = 0
        self._columns["kind"][0] = "span"
        self._children = [[] for _ in self._parents]
        for place, parent in enumerate(self._parents):
            if parent is not None:
                self._children[parent].append(place)
        self._nodes = [Node(self, place) for place in range(len(self._parents))]
        self._sets, self._metric_table = {}, None
        self._in_backward = {node._place for node in bfs(self.backward)}

    def _leave_out_start(self):
        """What a program takes until anything in it is recorded, its imports above all, is in no node."""
        programs = f"run_id = {self.run_id} and category = 'program'"
        firsts = (f"select parent_id, min(start_ns) as start_ns from span where run_id = {self.run_id}"
                  f" and parent_id in (select span_id from span where {programs}) group by 1")
        starts = {row.name: row.ns for row in self.trace.sql(
            f"select p.name, sum(first.start_ns - p.start_ns) as ns from span p join ({firsts}) first on first.parent_id = p.span_id"
            f" where {programs} and p.parent_id is null group by 1")}
        host = ["host_ns"] + ["time_ns"] * (self._columns["device_ns"][0] is None)
        for place, above in enumerate(self._parents):
            ns = starts.get(self._columns["name"][place], 0) if above == 0 and self._columns["category"][place] == "program" else 0
            for name in host:
                self._columns[name][place] -= ns
                self._columns[name][0] -= ns
            if len(host) > 1:
                self._columns["self_ns"][place] -= ns

    root = property(lambda self: self._nodes[0])
    nodes = property(lambda self: self._nodes[1:], doc="all nodes but the root")

    def __len__(self):
        return len(self._nodes)

    def _set(self, name, holds):
        if name not in self._sets:
            self._sets[name] = [node for node in self.nodes if holds(node)]
        return list(self._sets[name])

    def _outermost(self, name, holds):
        """Those that are in no other of them."""
        if name not in self._sets:
            inside = [False] * len(self._nodes)
            found = []
            for node in self.nodes:
                around = self._parents[node._place]
                inside[node._place] = inside[around]
                if not inside[around] and holds(node):
                    inside[node._place] = True
                    found.append(node)
            self._sets[name] = found
        return list(self._sets[name])

    kernels = property(lambda self: self._set("kernels", lambda node: node._get("is_kernel")))
    operators = property(lambda self: self._set("operators", lambda node: node.level == "layer" and node.calls > 0))
    forward = property(lambda self: self._outermost("forward", lambda node: node.category == "forward"))
    backward = property(lambda self: self._outermost("backward", _is_backward))
    optimizer = property(lambda self: self._outermost("optimizer", _is_optimizer))
    loss = property(lambda self: self._outermost("loss", lambda node: _is_loss(node) and not node.is_backward))

    @property
    def models(self):
        """Steps and inferences: nodes of model level."""
        return self._outermost("models", lambda node: node.level == "model" and node.calls > 0)

    def _trains(self):
        around = set()
        for node in self.backward + self.optimizer:
            around.update(above._place for above in node.path)
        return around

    @property
    def training(self):
        trains = self._trains()
        return [node for node in self.models if node._place in trains]

    @property
    def inference(self):
        trains = self._trains()
        return [node for node in self.models if node._place not in trains]

    @property
    def _metrics(self):
        if self._metric_table is None:
            self._metric_table = {}
            for row in self.trace.sql(f"select context_id, metric, sum from context_metric where run_id = {self.run_id}"):
                self._metric_table.setdefault(row.context_id, {})[row.metric] = row.sum
        return self._metric_table


def _is_backward(node):
    """Its spans are linked to forward operators, or are steps of autograd that have none, or are the stage around both."""
    return node._get("is_backward") or node.category == "backward" or node.name.startswith("autograd::engine::evaluate_function")


def _is_optimizer(node):
    return node.category == "optimizer" or node.name.startswith("Optimizer.step")


def _is_loss(node):
    """By its name: a module or function of PyTorch, an operator, or the program's own function."""
    return "loss" in node.name.rsplit("/", 1)[-1].lower()


def hotspot_analysis(tree, threshold=0.1):
    """Kernels with more than this share of the run's time."""
    return [node for node in tree.kernels if node.time / tree.root.time > threshold]
