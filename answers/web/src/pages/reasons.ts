// SPDX-License-Identifier: Apache-2.0
// Why a page has nothing to show, for the program at hand: the pages' links are grey then, and the pages have the reason in
// the place of their figures.
import { LEVELS, type Answer } from "../data";
import { plural } from "../format";
import { documentData, experiment, experimentRuns, run, type Page } from "../state";
import { number, text } from "../widgets/answers";
import { isOpened } from "../parts";
import { answer, answers, batches } from "../widgets/parts";

type Origin = "profile" | "run" | "import";
export function origin(): Origin {
  const command = experiment.value?.command ?? null;
  return command === null ? "import" : /^\S*\s+profile\b/.test(command) ? "profile" : "run";
}
const levels = () => [...new Set(experimentRuns.value.map((facts) => facts.levels))];
// A run without --levels has all levels on, and lists those with spans: the others were silent, not off.
const hadAllLevels = () =>
  origin() === "run" && !/ --levels[ =]/.test((experiment.value?.command ?? "").split(" -- ")[0]);
const recordsLevel = (letter: string) => hadAllLevels() || levels().some((set) => set.split(/[/@+]/).includes(letter));
const framework = () =>
  [experiment.value?.framework, experiment.value?.framework_version].filter(Boolean).join(" ") || "The program";
const isOf = (name: string) => experiment.value?.framework?.toLowerCase() === name;

// Of `xsp run --aggregate`.
const FOLDED = "The spans of this recording were folded into calling contexts, which the flame graph shows.";
const isFolded = () => experimentRuns.value.some((facts) => facts.has_contexts && facts.detail === "spans");

function noLayers(): string {
  if (isFolded()) return FOLDED;
  const outside = experimentRuns.value.reduce((sum, facts) => sum + facts.levels_counted[LEVELS.indexOf("layer")], 0);
  if (outside > 0) return `${plural(outside, "layer")} ${outside === 1 ? "is" : "are"} in no prediction or step.`;
  if (origin() === "import") return "The trace names no operators.";
  if (!recordsLevel("L")) return `Recorded at ${levels().join(", ")} only. With layers: --levels M,M/L.`;
  return origin() === "profile" ? `${framework()} announced no layers.` : "The program announced no layers.";
}
function noKernels(): string {
  if (isFolded()) return FOLDED;
  if (origin() === "import")
    return "No span of the trace is marked as a kernel: no device was used, or the profiler recorded none or marks none.";
  if (recordsLevel("K"))
    return origin() === "profile"
      ? `Kernels were to be recorded and none ran: ${framework()} used the CPU.`
      : "No tracer recorded a kernel: the program used no device, or one that xsp does not trace.";
  return origin() === "profile"
    ? `Recorded at ${levels().join(", ")} only. On a CPU ${framework()} has no kernels; on a device --levels M,M/L,M/L/K records them.`
    : `Recorded at ${levels().join(", ")} only. With kernels: --levels M,M/L,M/L/K.`;
}
// For a place that lists both.
export function noLayersOrKernels(): string {
  if (isFolded()) return FOLDED;
  return origin() === "import" || recordsLevel("L") || recordsLevel("K")
    ? `${noLayers()} ${noKernels()}`
    : `Recorded at ${levels().join(", ")} only. With layers and kernels: --levels M,M/L,M/L/K.`;
}
const noLines = () =>
  origin() === "run"
    ? "No thread was sampled: -t cpu records samples, from which lines have their time."
    : "The recording has no samples of threads, from which lines have their time: xsp run records them.";
const points = ["arithmetic", "analytic"].map((kind) => [`${kind}_intensity`, `${kind}_throughput_flops_per_s`]);
const hasPoints = () =>
  [...answers("A9"), ...answers("A14"), ...answers("A15")].some(({ table }) =>
    table.rows.some((row) => points.some((keys) => keys.every((key) => (number(row[key]) ?? 0) > 0))),
  );
function noPoints(): string {
  const hasLayers = withRows(answer("A2")) !== undefined,
    hasKernels = withRows(answer("A10")) !== undefined;
  if (!hasLayers && !hasKernels) return noLayers();
  const whose = origin() === "import" ? "The trace's" : origin() === "run" ? "The program's" : `${framework()}'s`;
  const parts = [
    hasLayers
      ? `layers have no shapes${isOf("pytorch") ? " (record_shapes=True)" : ""}, from which their work follows`
      : "",
    hasKernels ? "kernels have no counts of flops and DRAM bytes" : "",
  ];
  return `${whose} ${parts.filter(Boolean).join("; its ")}.`;
}
function noBatches(): string {
  const sizes = batches();
  if (answers("A1").length === 0) return "No prediction or step is marked: nothing has a batch size.";
  if (sizes.length === 1)
    return `Only batch size ${sizes[0]} was measured${origin() === "profile" ? ": --batch 1,2,4,8 measures several" : ""}.`;
  return origin() === "import"
    ? "The trace has no batch size: xsp import --batch N FILE states it, a file for each size."
    : "The program did not state its batch size.";
}
function noMemory(): string {
  const kernels = withRows(answer("A10")) === undefined ? "" : ", nor DRAM bytes of kernels";
  if (origin() === "import")
    return `The trace has no allocations of operators${isOf("pytorch") ? " (profile_memory=True)" : ""}${kernels}.`;
  if (withRows(answer("A2")) === undefined) return noLayers();
  return origin() === "run"
    ? `The program announced no allocations of its layers${kernels}.`
    : `${framework()} reported no allocations of layers${kernels}${isOf("onnxruntime") ? "; 1.31 and later do" : ""}.`;
}
const TRAFFIC = ["dram_bytes", "dram_read_bytes", "dram_write_bytes"];
const hasTraffic = () =>
  answer("A12")?.table.rows.some((row) => TRAFFIC.some((key) => number(row[key]) !== null)) === true;

export const withRows = (one: Answer | undefined) => (one !== undefined && one.table.rows.length > 0 ? one : undefined);
// "": the page has something to show.
export function reasonOf(page: Page): string {
  const facts = run.value;
  if (isOpened() && page !== "timeline" && page !== "flame" && page !== "runs")
    return "The page was opened without xsp, which computes this: xsp report FILE makes a page with it.";
  switch (page) {
    case "timeline":
    case "flame":
      return facts === undefined || facts.detail === "none" || text(facts.spans) === "0"
        ? "No spans of this run are in this report."
        : "";
    case "lines":
      return answer("A22") === undefined ? noLines() : "";
    case "input":
      return answer("A19") === undefined ? "No data loader made a batch while it was recorded." : "";
    case "comparison":
      return documentData.value?.comparison === undefined ? "The page is not of xsp compare." : "";
    case "ranks":
      return answers("A21").length === 0 ? "The recording is not of several ranks of a job." : "";
    case "generations":
      return answer("A20") === undefined ? "No decoder was called for one token after another." : "";
    case "compilation":
      return answer("A25") === undefined ? "Nothing was compiled by torch.compile or jax.jit." : "";
    case "layers":
      return withRows(answer("A2")) === undefined ? noLayers() : "";
    case "kernels":
      return withRows(answer("A8")) === undefined && withRows(answer("A10")) === undefined ? noKernels() : "";
    case "roofline":
      return hasPoints() ? "" : noPoints();
    case "batch":
      return batches().length < 2 ? noBatches() : "";
    case "memory":
      return answer("A4") === undefined && !hasTraffic() ? noMemory() : "";
    default:
      return "";
  }
}
