// SPDX-License-Identifier: Apache-2.0
// The run's tracks in the order in which they are shown: by process, host threads (those with the model first) before
// devices; lanes of spans that overlap stay with their track.
import { levelOf, type Lane, type Spans } from "../data";

const MODEL = 1,
  MADE_UP = 1_000_000_000; // processes without a number in the source are numbered from here

export interface Track {
  lane: number;
  label: string;
  isOverlap: boolean;
  isDevice: boolean;
  rows: number[]; // of facts.rows, outermost first
  spans: number;
}
export interface TrackGroup {
  id: string;
  label: string;
  title: string;
  tracks: Track[];
}

function lanesWithModel(data: Spans): Set<number> {
  const lanes = new Set<number>();
  for (const [lane, , first, count] of data.facts.rows) {
    if (lanes.has(lane)) continue;
    let i = first;
    while (i < first + count && levelOf(data, i) !== MODEL) i++;
    if (i < first + count) lanes.add(lane);
  }
  return lanes;
}

const pidOf = ({ pid }: Lane) => (pid === undefined || pid >= MADE_UP ? null : pid);

// What it is for, else what it runs.
export function processLabel(lane: Lane): string {
  const pid = pidOf(lane);
  if (lane.role != null) return lane.role;
  return pid === null ? lane.process : lane.command != null ? `${lane.command}, pid ${pid}` : `pid ${pid}`;
}

// Processes may share a name: a program that forked.
const processKey = (lane: Lane) => `${pidOf(lane) ?? ""}\n${lane.process}`;

// Tracks of one process with the same name get a number.
const known = new WeakMap<Spans, string[]>();
export function trackLabels(data: Spans): string[] {
  let all = known.get(data);
  if (all === undefined) known.set(data, (all = labels(data)));
  return all;
}
function labels(data: Spans): string[] {
  const lanes = data.facts.lanes,
    counts = new Map<string, number>(),
    seen = new Map<string, number>(),
    nameOf = (lane: number) => lanes[lane].thread ?? lanes[lane].name,
    key = (lane: number) => `${processKey(lanes[lane])}\n${lanes[lane].is_device}\n${nameOf(lane)}`;
  lanes.forEach((lane, i) => lane.overlap === 0 && counts.set(key(i), (counts.get(key(i)) ?? 0) + 1));
  return lanes.map((lane, i) => {
    if (lane.overlap === 0) seen.set(key(i), (seen.get(key(i)) ?? 0) + 1);
    const number = (counts.get(key(i)) ?? 1) > 1 ? ` #${seen.get(key(i))}` : "";
    return `${nameOf(i)}${number}${lane.overlap > 0 ? ` (${lane.overlap + 1})` : ""}`;
  });
}

export function trackGroups(data: Spans): TrackGroup[] {
  const label = trackLabels(data),
    withModel = lanesWithModel(data);
  const tracks = data.facts.lanes.map((lane, i): Track => ({
    lane: i,
    label: label[i],
    isOverlap: lane.overlap > 0,
    isDevice: lane.is_device,
    rows: [],
    spans: 0,
  }));
  data.facts.rows.forEach(([lane, , , count], row) => {
    tracks[lane].rows.push(row);
    tracks[lane].spans += count;
  });
  const groups = new Map<string, TrackGroup & { rank: number }>(),
    processes = [...new Set(data.facts.lanes.map(processKey))],
    pids = new Set(data.facts.lanes.map(pidOf).filter((pid) => pid !== null)),
    isOne = pids.size < 2 && new Set(data.facts.lanes.map((lane) => lane.process)).size < 2;
  let rank = 0; // of a lane that overlaps: its track's
  for (const track of tracks) {
    const lane = data.facts.lanes[track.lane],
      { process, is_device: isDevice } = lane,
      key = `${processKey(lane)}\n${isDevice}`,
      kind = isDevice ? "Devices" : "Threads";
    if (!track.isOverlap) rank = withModel.has(track.lane) ? 0 : 1;
    let group = groups.get(key);
    if (group === undefined) {
      const place = processes.indexOf(processKey(lane)),
        name = isOne ? kind : isDevice ? `${kind}, ${processLabel(lane)}` : processLabel(lane),
        title = [process, pidOf(lane) === null ? "" : `pid ${pidOf(lane)}`, kind].filter((part) => part !== "");
      group = { id: `${isDevice ? "d" : "h"}${place}`, label: name, title: title.join(", "), tracks: [], rank: 0 };
      group.rank = (isDevice ? 1 : 0) + 2 * place;
      groups.set(key, group);
    }
    if (rank === 0) {
      const before = group.tracks.findIndex((one) => !withModel.has(one.lane) && !one.isOverlap);
      group.tracks.splice(before < 0 ? group.tracks.length : before, 0, track);
    } else group.tracks.push(track);
  }
  return [...groups.values()].sort((a, b) => a.rank - b.rank);
}
