// SPDX-License-Identifier: Apache-2.0
// The head's menu of exports: files of the run shown, Perfetto, and the commands that export the whole file.
import { useState } from "preact/hooks";
import { loadContexts } from "../data";
import { bytes, plural, time } from "../format";
import { isLive } from "../live";
import { documentData, run, selection, spans } from "../state";
import { Command, quoted, saveFile } from "../widgets/copy";
import { Menu } from "../widgets/menu";
import { runLabel } from "../widgets/parts";
import { chromeTrace } from "./chrome";
import { folded, foldedContexts } from "./folded";
import { openInPerfetto } from "./perfetto";
import type { Source } from "./source";
import { speedscope } from "./speedscope";

interface Format {
  name: string;
  what: string;
  ending: string;
  type: string;
  make: (source: Source) => string[] | Promise<string[]>;
}
const FORMATS: Format[] = [
  {
    name: "Chrome trace",
    what: "JSON, for Perfetto, chrome://tracing and others",
    ending: "json",
    type: "application/json",
    make: chromeTrace,
  },
  {
    name: "speedscope",
    what: "for speedscope.app: time order, left-heavy, sandwich",
    ending: "speedscope.json",
    type: "application/json",
    make: speedscope,
  },
  {
    name: "Folded stacks",
    what: "self time by context, for flame graph tools",
    ending: "folded",
    type: "text/plain",
    make: async (source) => {
      const contexts = source.range === null ? await loadContexts(source.data.facts) : null;
      return contexts === null ? folded(source) : foldedContexts(contexts, source.names);
    },
  },
];

function sourceOf(isRange: boolean): Source | null {
  const data = spans.value,
    facts = run.value;
  if (data === null || facts === undefined) return null;
  const file = documentData.value!.files[facts.file].name;
  const range = isRange ? selection.value : null;
  return { data, names: documentData.value!.names, range, title: `${file}, ${runLabel(facts)}` };
}
const fileName = (source: Source) => {
  const { file, run_id } = source.data.facts;
  const name = documentData.value!.files[file].name.replace(/^.*\//, "").replace(/\.xsp$/, "");
  return `${name}-run${run_id}${source.range === null ? "" : "-range"}`;
};
// Draws the progress line before the work begins.
const drawn = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

function Panel({ close }: { close: () => void }) {
  const range = selection.value,
    [isRange, setRange] = useState(range !== null),
    [state, setState] = useState("");
  const source = sourceOf(isRange);
  const facts = run.value;
  const file = facts === undefined ? "FILE" : documentData.value!.files[facts.file].name;
  const save = async (format: Format) => {
    setState(`Making ${format.name}…`);
    await drawn();
    saveFile(`${fileName(source!)}.${format.ending}`, format.type, await format.make(source!));
    close();
  };
  const hand = async () => {
    let size = 0;
    setState("Waiting for Perfetto's tab…");
    try {
      await openInPerfetto(source!.title, async () => {
        const blob = new Blob(chromeTrace(source!), { type: "application/json" });
        size = blob.size;
        return blob;
      });
      setState(`Sent to Perfetto's tab: ${bytes(size)}.`);
    } catch (error) {
      setState(`Perfetto did not accept it: ${(error as Error).message}. The command below needs no network.`);
    }
  };
  return (
    <div class="export">
      <p class="quiet">
        {source === null
          ? "The spans of this run are not in this report; the commands below have them."
          : `${runLabel(source.data.facts)}: ${plural(source.data.count, source.data.merged === null ? "span" : "merged rectangle")}, without tags.`}
      </p>
      {range !== null && source !== null && (
        <label class="menu-item">
          <input type="checkbox" checked={isRange} onChange={(event) => setRange(event.currentTarget.checked)} />
          only spans that overlap the {time(range.to - range.from)} selected
        </label>
      )}
      {source !== null && (
        <>
          {FORMATS.map((format) => (
            <button key={format.name} type="button" class="menu-item" onClick={() => save(format)}>
              <span>
                <strong>Save {format.name}</strong>
                <small>{format.what}</small>
              </span>
            </button>
          ))}
          <button type="button" class="menu-item" onClick={hand}>
            <span>
              <strong>Open in Perfetto</strong>
              <small>opens ui.perfetto.dev; the trace goes to that tab of this browser, not to a server</small>
            </span>
          </button>
        </>
      )}
      <p role="status" class="export-state">
        {state}
      </p>
      {!isLive() && (
        <div class="export-commands">
          <span class="quiet">Whole file, with tags, in a terminal:</span>
          <Command text={`xsp export ${quoted(file)} --to perfetto -o trace.pftrace`} />
        </div>
      )}
    </div>
  );
}

export const ExportMenu = () => (
  <Menu text="Export" label="Export">
    {(close) => <Panel close={close} />}
  </Menu>
);
