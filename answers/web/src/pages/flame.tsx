// SPDX-License-Identifier: Apache-2.0
// A run's time by context: top-down, by name and its callers, heaviest first, or in time order. Self time: a span's
// duration less the spans nested in it on its track. Executions count in full, in the context that launched them.
// The totals of all orders and tables equal: select sum(self_ns) from span where run_id = …
import { useEffect, useMemo, useState } from "preact/hooks";
import { levelOf, type RunFacts, type Spans } from "../data";
import { matching } from "../find";
import { FlameCanvas, type Hovered } from "../flame/canvas";
import { contextsOfSamples, inSlices, loadTree, type Tree } from "../flame/contexts";
import { findSpan } from "../flame/find_span";
import {
  atOnce,
  keyOf,
  matchesOf,
  nodeOfKeys,
  pathOf,
  shapeOf,
  type Order,
  type Shape,
  type Value,
} from "../flame/shape";
import { hasSteps, mergeSteps, nameIn, stepsApart, stepsOf, type Steps } from "../flame/steps";
import { ContextTable, NameTable, SandwichView } from "../flame/tables";
import { Legend, Path, SpotLine, SpotTip, Tip, HoveredLine } from "../flame/hovered";
import { sourceOfNode } from "../flame/sources";
import { TimeOrder, type Spot } from "../flame/time_order";
import { exchanged, joined, loadSide, type Side } from "../flame/difference";
import { ComparedRuns, DifferenceLegend, DifferenceTable, Unseen } from "../flame/difference_parts";
import {
  areStepsApart,
  chosenTrack,
  chosenValue,
  comparedRun,
  isRecursionCollapsed,
  isWidthOther,
  MODES,
  samplesOf,
  shownSamples,
  Tools,
} from "../flame/tools";
import { count, digits, plural, time } from "../format";
import { findingsAnswer, forgetFinding, foundNode, marksOf, NO_MARKS, type Marks } from "../findings";
import { host } from "../editor";
import { openSource, shortFrame } from "../source";
import { details, documentData, flameMode, page, search, selection, setDetail, view, type Range } from "../state";
import { select } from "../windows";
import { clamp, wholeOf } from "../timeline/geometry";
import { runLabel, Unpacked } from "../widgets/parts";
import { foundLine, forgetLine } from "../flame/of_line";
import "../flame/flame.css";

export function Flame() {
  return <Unpacked>{(data) => <FlamePage key={data.facts.run} data={data} />}</Unpacked>;
}

// What is counted, and how exactly.
function Basis({ data, tree }: { data: Spans; tree: Tree }) {
  const sampled = shownSamples(data.facts);
  if (sampled === "samples") return <p class="note">Samples of instructions, of the whole run and all devices.</p>;
  if (sampled !== null)
    return (
      <p class="note">
        {sampled === "cpu" ? "CPU time" : "Waits"} of samples, of the whole run and all threads; no time of spans is in
        it.
      </p>
    );
  const range = selection.value,
    { facts } = data;
  const isWhole = range === null && chosenTrack(data) === null;
  return (
    <>
      {range !== null && (
        <p class="note" role="status">
          Only the {time(range.to - range.from)} selected in {runLabel(facts)} count.{" "}
          <button type="button" onClick={() => (selection.value = null)}>
            Clear selection
          </button>
        </p>
      )}
      {facts.detail === "merged" && (
        <p class="note">
          {isWhole
            ? `The contexts are those of all ${plural(facts.recorded, "span")} of the run, exact; the timeline and time order show them as ${count(facts.spans)} rectangles.`
            : `Counted from ${plural(facts.spans, "rectangle")} of ${plural(facts.recorded, "span")}: rectangles at the range's ends count in proportion, and nesting in merged rectangles is approximate.`}
        </p>
      )}
      {facts.has_contexts && facts.detail === "spans" && (
        <p class="note">
          These are the contexts of the whole recording: its spans were folded into them. The timeline has the program
          only.
        </p>
      )}
      {tree.left_out > 0 && (
        <p class="note">{plural(tree.left_out, "span")} are in no context here: there were too many contexts.</p>
      )}
      {facts.spans_of_other_clocks > 0 && (
        <p class="quiet">{plural(facts.spans_of_other_clocks, "span")} of tracks with other clocks are left out.</p>
      )}
    </>
  );
}

// The contexts of the run shown, or of two runs.
interface Counted {
  tree: Tree;
  sides: [Side, Side] | null;
}
function useCounted(data: Spans, range: Range | null, track: number | null, other: RunFacts | undefined) {
  const sampled = shownSamples(data.facts);
  const [counted, setCounted] = useState<Counted | null>(null),
    [part, setPart] = useState(0),
    [problem, setProblem] = useState("");
  useEffect(() => {
    let isCurrent = true;
    const onPart = (done: number) => isCurrent && setPart(done);
    setCounted(null);
    setProblem("");
    const made: Promise<Counted> =
      sampled !== null
        ? Promise.resolve({ tree: contextsOfSamples(data.facts, samplesOf(data.facts, sampled)), sides: null })
        : other === undefined
          ? loadTree(data, range, track, onPart).then((tree) => ({ tree, sides: null }))
          : Promise.all([loadSide(data.facts, onPart), loadSide(other, onPart)]).then((sides) => ({
              tree: joined(...sides),
              sides,
            }));
    made.then(
      (one) => isCurrent && setCounted(one),
      (error) => isCurrent && setProblem(String(error.message ?? error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [data, range?.from, range?.to, track, other, sampled]);
  return { counted, part, problem };
}

function FlamePage({ data }: { data: Spans }) {
  const other = comparedRun(data.facts),
    range = other === undefined ? selection.value : null,
    track = other === undefined ? chosenTrack(data) : null,
    { counted, part, problem } = useCounted(data, range, track, other),
    isOther = isWidthOther(),
    recorded = useMemo(
      () => (counted?.sides != null && isOther ? exchanged(counted.tree) : (counted?.tree ?? null)),
      [counted, isOther],
    );
  const names = documentData.value!.names,
    series = useMemo(() => (recorded === null ? stepsApart(names) : stepsOf(recorded, names)), [recorded]),
    isApart = areStepsApart() || !hasSteps(series),
    steps = useMemo(() => (isApart ? stepsApart(names) : series), [series, isApart]),
    tree = useMemo(() => (isApart || recorded === null ? recorded : mergeSteps(recorded, steps)), [recorded, steps]);
  return (
    <>
      <Tools data={data} tree={tree} hasSeries={hasSteps(series)} />
      {problem !== "" && <p class="failure">The contexts could not be computed: {problem}</p>}
      {tree === null && problem === "" && (
        <p class="quiet pad" role="status">
          Counting contexts… {Math.round(100 * part)} %
        </p>
      )}
      {tree !== null && tree.name.length > 1 && (
        <>
          {counted?.sides != null ? <ComparedRuns sides={counted.sides} /> : <Basis data={data} tree={tree} />}
          <Figure data={data} tree={tree} track={track} steps={steps} />
        </>
      )}
      {tree !== null && tree.name.length <= 1 && (
        <p class="note">
          The selection has no spans: {range === null ? "the run has none on this track" : "choose a longer range"}.
        </p>
      )}
    </>
  );
}

// A series of steps matches the search if one of them does.
function hitsOf(matches: Uint8Array | null, steps: Steps): Uint8Array | null {
  if (matches === null) return null;
  const hits = new Uint8Array(steps.names.length);
  hits.set(matches);
  matches.forEach((isHit, name) => (hits[steps.of[name]] |= isHit));
  return hits;
}

const AT_ONCE_MOST = 20_000; // contexts that are laid out before the page is drawn
function useShape(tree: Tree, order: Order, value: Value, isCollapsed: boolean, names: number): Shape | null {
  const [made, setMade] = useState<{ of: string; tree: Tree; shape: Shape } | null>(null);
  const of = `${order} ${value} ${isCollapsed}`,
    isSmall = tree.name.length <= AT_ONCE_MOST;
  const small = useMemo(
    () => (isSmall ? atOnce(shapeOf(tree, order, value, isCollapsed, names)) : null),
    [tree, of, isSmall],
  );
  useEffect(() => {
    if (isSmall) return;
    let isCurrent = true;
    inSlices(shapeOf(tree, order, value, isCollapsed, names), () => undefined).then(
      (shape) => isCurrent && setMade({ of, tree, shape }),
    );
    return () => {
      isCurrent = false;
    };
  }, [tree, of, isSmall]);
  return small ?? (made?.tree === tree && made.of === of ? made.shape : null);
}

function Figure({ data, tree, track, steps }: { data: Spans; tree: Tree; track: number | null; steps: Steps }) {
  const { names } = steps,
    short = useMemo(() => names.map(shortFrame), [names]),
    mode = flameMode.value,
    value = chosenValue(tree, data.facts),
    hits = useMemo(() => hitsOf(matching.value, steps), [matching.value, steps]),
    isCollapsed = isRecursionCollapsed(),
    order = mode === "time" ? "top-down" : mode,
    zoomed = details.value["flame.zoom"] ?? "",
    about = details.value["flame.name"] ?? "",
    sandwich = useMemo(() => (about === "" ? -1 : names.findIndex((name) => keyOf(name) === about)), [names, about]),
    [hovered, setHovered] = useState<{ hovered: Hovered; shape: Shape } | null>(null),
    [spot, setSpot] = useState<Spot>({ place: -1, x: -1, y: -1 });
  const shape = useShape(tree, order, value, isCollapsed, names.length + 1),
    root = useMemo(
      () => (shape === null ? 0 : nodeOfKeys(shape, names, zoomed === "" ? [] : zoomed.split("."))),
      [shape, names, zoomed],
    );
  const matches = useMemo(() => (hits === null || shape === null ? null : matchesOf(shape, hits)), [shape, hits]);
  const marks = useMemo(
    (): Marks =>
      shape === null || shape.otherSums !== null || mode === "time"
        ? NO_MARKS
        : marksOf(shape, data.facts, steps, isCollapsed, mode === "bottom-up"),
    [shape, steps, mode, findingsAnswer()],
  );
  useEffect(() => setHovered(null), [shape]);
  useEffect(() => {
    if (shape === null) return;
    const line = foundLine(shape),
      found = line ?? foundNode(shape, marks);
    if (found === null) return;
    if (line === null) forgetFinding();
    else forgetLine();
    if (found > 0) open(found);
  }, [shape, marks]);
  if (shape === null)
    return (
      <p class="quiet pad" role="status">
        Laying out {count(tree.name.length - 1)} contexts…
      </p>
    );
  const isCompared = shape.otherSums !== null,
    amount = (of: number) =>
      value === "samples"
        ? plural(of, "sample")
        : value !== "count"
          ? time(of)
          : isCompared
            ? `${digits(of)} span${of === 1 ? "" : "s"}`
            : plural(of, "span");
  const open = (node: number) =>
    setDetail(
      "flame.zoom",
      pathOf(shape, node)
        .map((one) => keyOf(names[shape.name[one]]))
        .join("."),
    );
  // In an editor, a click shows the source line too.
  const click = (node: number) => {
    open(node);
    const source = host === undefined || node === 0 ? undefined : sourceOfNode(shape, node, mode === "bottom-up");
    if (source !== undefined) openSource(source.file, source.line);
  };
  const jump = (node: number) => {
    const path = pathOf(shape, node).map((one) => shape.name[one]);
    const nameOf = (span: number) => nameIn(steps, data.name[span], levelOf(data, span));
    const place = findSpan(data, mode === "bottom-up" ? path : path.reverse(), range(), isCollapsed, nameOf);
    if (place < 0) return;
    select(data, place);
    const room = Math.max(1000, data.duration[place]);
    view.value = clamp(
      { from: data.start[place] - room, to: data.start[place] + data.duration[place] + room },
      wholeOf(data),
    );
    page.value = "timeline";
  };
  // With nothing under the pointer, the context shown alone.
  const alone = { hovered: { node: root, more: 0, total: shape.total[root], x: -1, y: -1 }, shape },
    figured = hovered !== null && hovered.hovered.node >= 0 ? hovered : root > 0 ? alone : null;
  const back = (isAll: boolean) => (root === 0 || isAll ? open(0) : open(shape.parent[root]));
  const openName = (name: number) => setDetail("flame.name", keyOf(names[name]));
  const figures = { "data-mode": mode, "data-value": value, "data-total": shape.total[0] };
  return (
    <>
      {mode !== "time" && (
        <Path shape={shape} root={root} names={short} onOpen={open} onName={openName} onJump={jump} mode={mode} />
      )}
      <section class="panel flame-panel" aria-label="Flame graph" {...figures}>
        {mode === "time" ? (
          <TimeOrder data={data} track={track} onHover={setSpot} />
        ) : (
          <FlameCanvas
            shape={shape}
            root={root}
            names={short}
            hits={hits}
            marks={marks}
            label={`Flame graph, ${MODES.find(([id]) => id === mode)![1].toLowerCase()}, ${amount(shape.total[root])}`}
            onHover={(next) => setHovered({ hovered: next, shape })}
            onOpen={click}
            onJump={jump}
            onBack={back}
          />
        )}
        <p class="flame-line" aria-live="polite">
          {mode === "time" ? (
            <SpotLine data={data} spot={spot} />
          ) : (
            <HoveredLine
              hovered={figured}
              names={short}
              show={amount}
              marks={figured?.shape === shape ? marks : NO_MARKS}
            />
          )}
        </p>
        {matches !== null && (
          <p role="status" data-match-total={matches.total}>
            <strong>“{search.value.trim()}”</strong> is in {plural(matches.contexts, "context")}:{" "}
            {amount(matches.total)},{" "}
            {shape.total[0] > 0 ? `${digits((100 * matches.total) / shape.total[0], 3)} %` : "–"} of all, with
            descendants.
          </p>
        )}
        {isCompared ? <DifferenceLegend shape={shape} /> : <Legend tree={tree} hasMarks={marks.size > 0} />}
        {isCompared && mode !== "time" && <Unseen shape={shape} show={amount} />}
      </section>
      {mode === "time" && spot.place >= 0 && spot.x >= 0 && <SpotTip data={data} spot={spot} />}
      {mode !== "time" && hovered !== null && hovered.hovered.x >= 0 && hovered.hovered.node >= 0 && (
        <Tip
          hovered={hovered.hovered}
          shape={hovered.shape}
          names={short}
          show={amount}
          all={shape.total[0]}
          marks={hovered.shape === shape ? marks : NO_MARKS}
        />
      )}
      {sandwich >= 0 && tree.name.includes(sandwich) && (
        <SandwichView
          tree={tree}
          name={sandwich}
          value={value}
          names={names}
          total={shape.total[0]}
          show={amount}
          onHover={(next, of) => setHovered({ hovered: next, shape: of })}
          onName={openName}
          onClose={() => setDetail("flame.name", "")}
        />
      )}
      {isCompared ? (
        <DifferenceTable
          tree={tree}
          shape={shape}
          isByName={mode === "bottom-up"}
          value={value}
          names={names}
          onRow={mode === "bottom-up" ? openName : open}
        />
      ) : mode === "bottom-up" ? (
        <NameTable tree={tree} value={value} names={names} total={shape.total[0]} onRow={openName} />
      ) : (
        <ContextTable shape={shape} value={value} names={names} onRow={click} />
      )}
    </>
  );
}
const range = () => selection.value;
