// SPDX-License-Identifier: Apache-2.0
// Figures of the selection on the timeline, else of the whole run: busy times of levels and tracks, spans by name.
import { useMemo } from "preact/hooks";
import { KINDS, LEVELS, loadContexts, type Contexts, type Spans } from "../data";
import { busy, groups, matching, type Busy, type Group } from "../find";
import { digits, plural, time } from "../format";
import { details, documentData, search, selection, setDetail, view, type Range } from "../state";
import { DataTable } from "../widgets/table";
import { goToMatch } from "../windows";
import { widened } from "./geometry";
import { useLoaded } from "./loaded";
import { trackLabels } from "./tracks";

const lengthOf = (data: Spans, range: Range | null) => Math.max(1, range === null ? data.end : range.to - range.from);

function Headline({ data }: { data: Spans }) {
  const range = selection.value,
    all = busy.value,
    length = lengthOf(data, range);
  const levels = LEVELS.map((name, level) => {
    const tracks = all.filter((one) => one.byLevel[level] > 0);
    return { name, level, tracks: tracks.length, time: tracks.reduce((sum, one) => sum + one.byLevel[level], 0) };
  }).filter((one) => one.time > 0);
  return (
    <section class="panel headline" aria-label="Busy time">
      <div class="details-head">
        <h3>
          {range === null
            ? `${documentData.value!.range_ns === null ? "Whole run" : "The part on this page"}: ${time(data.end)}`
            : `${time(range.to - range.from)} selected, from ${time(range.from, 7)}`}
        </h3>
        {range !== null && (
          <span class="actions">
            <button type="button" onClick={() => (view.value = widened(range, 0.02))}>
              Zoom to selection
            </button>
            <button type="button" onClick={() => (selection.value = null)}>
              Clear selection
            </button>
          </span>
        )}
      </div>
      <dl class="facts">
        {levels.map(({ name, level, tracks, time: sum }) => (
          <div key={name}>
            <dt>
              <i class={`dot level-${level}`} />
              {name} {tracks > 1 ? `on ${tracks} tracks` : ""}
            </dt>
            <dd title={`${sum} ns`}>
              {time(sum)} <span class="quiet">{digits((100 * sum) / length / tracks, 3)} %</span>
            </dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        Busy time: nested spans of one level count once on each track, launches do not count. Times are sums over
        tracks, shares are means.
      </p>
    </section>
  );
}

// For a whole merged run, the recorded names: rectangles have only one name each.
function recorded(file: Contexts | null, hits: Uint8Array | null): Group[] | null {
  if (file === null) return null;
  const { name, level, kind, count, total_ns: total, least_ns: least, most_ns: most } = file.totals;
  return name
    .map((one, i) => ({
      name: one,
      level: level[i],
      kind: kind[i],
      count: count[i],
      total: total[i],
      least: least[i],
      most: most[i],
    }))
    .filter((group) => hits === null || hits[group.name] === 1)
    .sort((a, b) => b.total - a.total);
}

function ByName({ data, names }: { data: Spans; names: string[] }) {
  const range = selection.value,
    length = lengthOf(data, range),
    file = useLoaded(() => loadContexts(data.facts), [data.facts]),
    hits = matching.value;
  const exact = useMemo(() => (range === null ? recorded(file, hits) : null), [file, hits, range]),
    leftOut = exact === null ? 0 : (file?.totals.left_out ?? 0);
  const columns = useMemo(
    () => [
      {
        key: "name",
        label: "name",
        isText: true,
        value: (group: Group) => names[group.name],
        show: (group: Group) => (
          <>
            <i class={`dot level-${group.level}`} />
            {names[group.name]}
          </>
        ),
      },
      { key: "level", label: "level", isText: true, value: (group: Group) => LEVELS[group.level] },
      { key: "kind", label: "kind", isText: true, value: (group: Group) => KINDS[group.kind] },
      { key: "count", label: "count", value: (group: Group) => group.count },
      {
        key: "total_ns",
        label: range === null ? "total" : "total inside",
        hasBar: true,
        value: (group: Group) => group.total,
      },
      {
        key: "share_pct",
        label: range === null ? "of the run" : "of the range",
        title: "share of the range; several tracks may run at once",
        value: (group: Group) => (100 * group.total) / length,
      },
      { key: "mean_ns", label: "mean", value: (group: Group) => group.total / group.count },
      { key: "least_ns", label: "min", value: (group: Group) => (Number.isNaN(group.least) ? null : group.least) },
      { key: "most_ns", label: "max", value: (group: Group) => (Number.isNaN(group.most) ? null : group.most) },
    ],
    [names, range, length],
  );
  const what = search.value === "" ? "" : ` that match “${search.value}”`;
  const caption =
    range === null
      ? `Spans by name${what}, whole run`
      : `Spans by name${what}, ${time(range.to - range.from)} selected`;
  return (
    <>
      <DataTable
        id="groups"
        caption={caption}
        columns={columns}
        rows={exact ?? groups.value}
        height={360}
        onRow={(group) => {
          const only = new Uint8Array(names.length);
          names.forEach((name, i) => {
            if (i === group.name || (data.merged !== null && name === `${names[group.name]} and others`)) only[i] = 1;
          });
          void goToMatch(only, 1);
        }}
      />
      {leftOut > 0 && <p class="quiet">{plural(leftOut, "span")} of further names are not on this page.</p>}
      {data.merged !== null && exact === null && (
        <p class="quiet">Rectangles with several names count under the name with the most time: “… and others”.</p>
      )}
    </>
  );
}

function ByTrack({ data }: { data: Spans }) {
  const range = selection.value,
    length = lengthOf(data, range);
  const columns = useMemo(() => {
    const used = LEVELS.map((name, level) => ({ name, level })).filter(
      ({ level }) => data.facts.levels_counted[level] > 0,
    );
    return [
      {
        key: "track",
        label: "track",
        isText: true,
        value: (one: Busy) => trackLabels(data)[one.lane],
      },
      { key: "process", label: "process", isText: true, value: (one: Busy) => data.facts.lanes[one.lane].process },
      { key: "spans", label: "spans", value: (one: Busy) => one.spans },
      { key: "any_ns", label: "busy", title: "union of its spans of all levels", value: (one: Busy) => one.any },
      { key: "used_pct", label: "utilisation", value: (one: Busy) => (100 * one.any) / length },
      ...used.map(({ name, level }) => ({
        key: `${name}_ns`,
        label: name,
        title: `union of its spans of level ${name}, without launches`,
        value: (one: Busy) => (one.byLevel[level] > 0 ? one.byLevel[level] : null),
      })),
    ];
  }, [data, length]);
  const caption = range === null ? "Tracks, whole run" : `Tracks, ${time(range.to - range.from)} selected`;
  return <DataTable id="tracks" caption={caption} columns={columns} rows={busy.value} height={360} />;
}

export function Aggregates({ data, names }: { data: Spans; names: string[] }) {
  const shown = details.value["timeline.table"] === "tracks" ? "tracks" : "names";
  return (
    <>
      <Headline data={data} />
      <span class="segments" role="group" aria-label="Table">
        <button type="button" aria-pressed={shown === "names"} onClick={() => setDetail("timeline.table", "")}>
          By name
        </button>
        <button type="button" aria-pressed={shown === "tracks"} onClick={() => setDetail("timeline.table", "tracks")}>
          By track ({plural(busy.value.length, "track")})
        </button>
      </span>
      {shown === "names" ? <ByName data={data} names={names} /> : <ByTrack data={data} />}
    </>
  );
}
