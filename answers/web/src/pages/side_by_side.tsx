// SPDX-License-Identifier: Apache-2.0
// One prediction at each level set, on one time scale, which shows the overhead of each level. A profile's deepest
// level is measured without it; the others are drawn faint and hatched.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { levelOf, LEVELS, loadRun, type Answer, type Cell, type RunFacts } from "../data";
import { cell, digits, time } from "../format";
import { observationsOf, type Observation } from "../noise";
import { documentData, experimentRuns, observationWord } from "../state";
import { text, type Row } from "../widgets/answers";
import { answers, shownBatch } from "../widgets/parts";
import { DataTable, type TableColumn } from "../widgets/table";
import { paintProfiles, type Hit, type Profile } from "./profile_paint";
import { finite, openObservation, Panel, percent } from "./shown";
import { added, isOverhead, levelOfSet, signed, VerdictMark, verdictOf, verdictWords } from "./waterfall";

interface Chosen {
  levels: string;
  typical: Observation;
  row: Row | undefined; // of L0
  over: Chosen | null;
}

// The counted observation of median duration, over all runs of a level set.
function typicalOf(runs: RunFacts[]): Observation | null {
  const all = observationsOf(runs.filter((facts) => facts.detail !== "none" && facts.spans > 0)),
    counted = all.filter((one) => !one.is_warmup);
  const sorted = [...(counted.length > 0 ? counted : all)].sort((a, b) => a.duration_ns - b.duration_ns);
  return sorted[sorted.length >> 1] ?? null;
}

function choose(runs: RunFacts[], l0: Answer | undefined, size: number | null): Chosen[] {
  const here = runs.filter((facts) => facts.batch_size === size && !facts.levels.includes("metrics"));
  const sets = [...new Set(here.map((facts) => facts.levels))].sort(
    (a, b) => levelOfSet(a) - levelOfSet(b) || a.length - b.length,
  );
  const chosen: Chosen[] = [];
  for (const levels of sets) {
    const typical = typicalOf(here.filter((facts) => facts.levels === levels));
    if (typical === null) continue;
    const row = l0?.table.rows.find((one) => one.levels === levels && (one.batch_size ?? null) === size);
    chosen.push({
      levels,
      typical,
      row,
      over: chosen.find((one) => one.levels === row?.over) ?? chosen.at(-1) ?? null,
    });
  }
  return chosen;
}

function bracketText({ levels, row, over }: Chosen): string {
  if (over === null) return "";
  const overhead = finite(row?.overhead_ms),
    what = `${added(levels, over.levels)}: `;
  if (overhead === null) return `${what}overhead not known`;
  const share = finite(row?.overhead_pct);
  return `${what}${signed(overhead)}${share === null ? "" : `, ${digits(Math.abs(share), 3)} %`}${isOverhead(row) ? "" : `, ${verdictOf(row)}`}`;
}
const deepest = (facts: RunFacts) =>
  facts.levels_counted.reduce((most, amount, level) => (amount > 0 ? level : most), 0);

export function SideBySide() {
  const size = shownBatch(),
    runs = experimentRuns.value,
    l0 = answers("L0")[0];
  const chosen = useMemo(() => choose(runs, l0, size), [runs, l0, size]);
  if (chosen.length === 0)
    return runs.some((facts) => facts.observations.length > 0) ? (
      <p class="note">
        No spans of runs{size === null ? "" : ` at batch ${size}`} are in this report, so no {observationWord.value} is
        drawn.
      </p>
    ) : null;
  if (chosen.length === 1)
    return (
      <p class="note">
        Only {chosen[0].levels} was recorded{size === null ? "" : ` at batch ${size}`}: there is no profile with fewer
        levels to compare. To get several: <code>xsp profile MODEL --levels M,M/L</code> or{" "}
        <code>xsp run --leveled</code>
      </p>
    );
  return (
    <>
      <Panel
        title={`One ${observationWord.value} at each level set`}
        aside={`the observation of median duration of each${size === null ? "" : `, batch ${size}`}, on one scale`}
      >
        <Profiles chosen={chosen} />
        <p class="quiet small">
          Full colour: the level that a set measures; hatched: slowed down by the levels below. Brackets: from the end
          of the {observationWord.value} without these levels to the end of this one; their figures are from L0, over
          all observations. A click opens the observation on the timeline.
        </p>
      </Panel>
      <ProfileTable chosen={chosen} />
    </>
  );
}

function Profiles({ chosen }: { chosen: Chosen[] }) {
  const canvas = useRef<HTMLCanvasElement>(null),
    hits = useRef<Hit[]>([]),
    [profiles, setProfiles] = useState<Profile[] | null>(null),
    [failed, setFailed] = useState(""),
    [tip, setTip] = useState<{ x: number; y: number; text: string } | null>(null),
    names = documentData.value!.names;
  useEffect(() => {
    let isOver = false;
    Promise.all(chosen.map((one) => loadRun(one.typical.facts))).then(
      (loaded) => {
        if (!isOver) setProfiles(profilesOf(chosen, loaded));
      },
      (error) => setFailed(String(error.message ?? error)),
    );
    return () => void (isOver = true);
  }, [chosen]);
  useEffect(() => {
    const element = canvas.current;
    if (element === null || profiles === null) return;
    let width = 0;
    const repaint = () => (hits.current = paintProfiles(element, profiles, names));
    const watch = new ResizeObserver(() => {
      if (element.clientWidth !== width) repaint();
      width = element.clientWidth;
    });
    watch.observe(element);
    addEventListener("xsp-theme", repaint);
    return () => {
      watch.disconnect();
      removeEventListener("xsp-theme", repaint);
    };
  }, [profiles]);
  if (failed !== "") return <p class="warn">The profiles could not be unpacked: {failed}</p>;
  const under = (event: MouseEvent) =>
    hits.current.find(
      ({ x0, x1, y0, y1 }) => event.offsetX >= x0 && event.offsetX <= x1 && event.offsetY >= y0 && event.offsetY < y1,
    );
  return (
    <div class="plot">
      <canvas
        class="profiles"
        ref={canvas}
        role="img"
        aria-label={`One ${observationWord.value} at ${chosen.map((one) => `${one.levels}: ${time(one.typical.duration_ns)}${one.over === null ? "" : ` (${bracketText(one)})`}`).join("; ")}`}
        onMouseMove={(event) => {
          const hit = under(event);
          setTip(
            hit === undefined || hit.span < 0
              ? null
              : { x: event.offsetX, y: event.offsetY, text: hitText(hit, names) },
          );
        }}
        onMouseLeave={() => setTip(null)}
        onClick={(event) => {
          const hit = under(event);
          const one = hit === undefined ? undefined : chosen[profiles!.indexOf(hit.profile)];
          if (one !== undefined) openObservation(one.typical);
        }}
      />
      {profiles === null && <p class="quiet">Unpacking…</p>}
      {tip !== null && <TipAt tip={tip} width={canvas.current?.clientWidth ?? 0} />}
    </div>
  );
}
function TipAt({ tip, width }: { tip: { x: number; y: number; text: string }; width: number }) {
  const isRight = tip.x > width / 2;
  return (
    <div
      class="plot-tip"
      style={{
        top: `${tip.y + 16}px`,
        left: isRight ? "auto" : `${tip.x + 10}px`,
        right: isRight ? `${width - tip.x + 10}px` : "auto",
      }}
    >
      {tip.text}
    </div>
  );
}
function hitText({ profile, span }: Hit, names: string[]): string {
  const { data } = profile;
  return `${names[data.name[span]]} (${LEVELS[levelOf(data, span)]}): ${time(data.duration[span])}, ${percent(data.duration[span], profile.length)} of the ${observationWord.value}`;
}

function profilesOf(chosen: Chosen[], loaded: Awaited<ReturnType<typeof loadRun>>[]): Profile[] {
  const profiles: Profile[] = [];
  chosen.forEach((one, i) => {
    const [from, length] = one.typical.facts.observations[one.typical.place];
    profiles.push({
      facts: one.typical.facts,
      data: loaded[i],
      from,
      length,
      trusted: deepest(one.typical.facts),
      over: one.over === null ? null : profiles[chosen.indexOf(one.over)],
      bracket: bracketText(one),
    });
  });
  return profiles;
}

function ProfileTable({ chosen }: { chosen: Chosen[] }) {
  const columns = useMemo((): TableColumn<Chosen>[] => {
    const ofRow = (key: string, name: string, title: string): TableColumn<Chosen> => ({
      key,
      label: name,
      title,
      value: ({ row }) => (row?.[key] ?? null) as Cell,
    });
    return [
      { key: "levels", label: "levels", isText: true, value: (one) => one.levels },
      { key: "run_id", label: "run", value: (one) => one.typical.facts.run_id },
      { key: "observation", label: "observation", value: (one) => one.typical.number },
      {
        key: "duration_ns",
        label: "drawn",
        title: "duration of the one drawn",
        value: (one) => one.typical.duration_ns,
      },
      {
        key: "longer_ns",
        label: "longer than before",
        title: "the bracket: this one less the one with fewer levels",
        value: (one) => (one.over === null ? null : one.typical.duration_ns - one.over.typical.duration_ns),
      },
      ofRow("latency_ms", "latency (L0)", "over all observations"),
      ofRow("overhead_ms", "overhead (L0)", "over all observations"),
      {
        key: "verdict",
        label: "verdict",
        title: "of L0, with its 95 % interval",
        isText: true,
        value: ({ row }) => (row === undefined || row.verdict === null ? null : verdictWords(row)),
        show: ({ row }) => (row === undefined || row.verdict === null ? "–" : <VerdictMark row={row} />),
      },
      {
        key: "trusted",
        label: "to be trusted",
        isText: true,
        value: (one) => text(cell("", LEVELS[deepest(one.typical.facts)])),
      },
    ];
  }, []);
  return (
    <DataTable
      id="profiles"
      caption={`The ${observationWord.value}s drawn`}
      rows={chosen}
      columns={columns}
      onRow={(one) => openObservation(one.typical)}
    />
  );
}
