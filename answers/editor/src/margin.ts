// SPDX-License-Identifier: Apache-2.0
// Times of lines, left of the text of source files: a column as wide in every line, so that the text stays aligned.
import * as vscode from "vscode";
import { percentText, timeText, type LineTime, type LineTimes } from "./lines";
import type { Profile } from "./profile";

const CALLEES_MOST = 5;
const WIDTH = "19ch";
const HOT = [0.02, 0.1, 0.3]; // shares from which a line is marked stronger

const column: vscode.DecorationRenderOptions = { isWholeLine: true };
const heat = (color: string, opacity: string) =>
  vscode.window.createTextEditorDecorationType({
    ...column,
    overviewRulerColor: new vscode.ThemeColor(color),
    overviewRulerLane: vscode.OverviewRulerLane.Right,
    before: { backgroundColor: `rgba(217, 122, 43, ${opacity})` },
  });

export class Margin implements vscode.Disposable {
  private readonly types = [
    vscode.window.createTextEditorDecorationType(column),
    heat("charts.yellow", "0.15"),
    heat("charts.orange", "0.35"),
    heat("charts.red", "0.6"),
  ];
  private readonly shown = new WeakMap<vscode.TextEditor, Profile | undefined>();

  async show(editor: vscode.TextEditor, profile: Profile | undefined) {
    this.shown.set(editor, profile);
    const lines = await profile?.linesOf(editor.document.uri),
      options = this.types.map((): vscode.DecorationOptions[] => []);
    if (this.shown.get(editor) !== profile) return; // a later call has another profile
    if (profile?.times && lines !== undefined)
      for (let at = 0; at < editor.document.lineCount; at++) {
        const time = lines.get(at + 1),
          share = time === undefined ? 0 : mainShare(time, profile.times);
        options[HOT.filter((least) => share >= least).length]!.push({
          range: new vscode.Range(at, 0, at, 0),
          ...(time === undefined ? {} : { hoverMessage: hover(time, profile, profile.times) }),
          renderOptions: {
            before: { ...LOOK, contentText: textOf(time, profile.times), color: share < HOT[1]! ? COOL : WARM },
          },
        });
      }
    this.types.forEach((type, heat) => editor.setDecorations(type, options[heat]!));
  }

  dispose() {
    for (const type of this.types) type.dispose();
  }
}

const COOL = new vscode.ThemeColor("descriptionForeground"),
  WARM = new vscode.ThemeColor("editor.foreground");
const LOOK = {
  width: WIDTH,
  margin: "0 1.5ch 0 0",
  textDecoration:
    "none; display: inline-block; text-align: right; white-space: pre; box-sizing: border-box; padding-right: 1ch",
};

// Device time is what a program with a device waits for.
const mainNs = (time: LineTime, { deviceNs }: LineTimes) => (deviceNs > 0 ? time.deviceNs : time.hostNs);
const mainShare = (time: LineTime, times: LineTimes) => mainNs(time, times) / (times.deviceNs || times.hostNs || 1);

function textOf(time: LineTime | undefined, times: LineTimes): string {
  if (time === undefined) return "\u00a0";
  const ns = mainNs(time, times);
  return `${timeText(ns)} · ${percentText(ns, times.deviceNs || times.hostNs)}`;
}

function hover(time: LineTime, profile: Profile, times: LineTimes): vscode.MarkdownString {
  const text = new vscode.MarkdownString(),
    rows: [string, number, number][] = [["host", time.hostNs, times.hostNs]];
  if (times.deviceNs > 0) rows.push(["device", time.deviceNs, times.deviceNs]);
  text.appendText(`${profile.name}, levels ${times.levels}${times.runs > 1 ? `, mean of ${times.runs} runs` : ""}\n`);
  for (const [name, ns, all] of rows) text.appendText(`${name} ${timeText(ns)}, ${percentText(ns, all)}\n`);
  const callees = [...time.callees].sort((one, other) => other[1] - one[1]);
  for (const [name, ns] of callees.slice(0, CALLEES_MOST)) text.appendText(`    ${timeText(ns)}  ${name}\n`);
  if (callees.length > CALLEES_MOST) text.appendText(`    and ${callees.length - CALLEES_MOST} more\n`);
  return text;
}
