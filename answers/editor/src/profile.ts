// SPDX-License-Identifier: Apache-2.0
// One open profile: its page, the times of its source lines, its findings, each from a process of xsp.
import * as vscode from "vscode";
import { findingsIn, type Finding } from "./findings";
import { lineTimes, METRICS_SQL, PATHS_SQL, type LineTime, type LineTimes } from "./lines";
import { baseName, bestMatches, escapeGlob, isLocal, recordedAs } from "./paths";
import { runXsp, XspError } from "./program";

const WRONG_USE = 2; // xsp's status where it does not know an analysis
const MATCHES_MOST = 1000;

const filesNamed = (name: string) => vscode.workspace.findFiles(`**/${escapeGlob(name)}`, undefined, MATCHES_MOST);

export class Profile implements vscode.CustomDocument {
  times: LineTimes | null = null;
  findings: Finding[] = [];
  findingsNote = ""; // why there are none
  private elsewhere = new Map<string, string[]>(); // recorded files that are not here, by name
  private running: AbortController | null = null;
  constructor(readonly uri: vscode.Uri) {}

  get name(): string {
    return baseName(this.uri.path);
  }

  // A new call ends the one before, which then throws an AbortError.
  async load(onPage: (html: string) => void): Promise<void> {
    this.running?.abort();
    const running = (this.running = new AbortController()),
      path = this.uri.fsPath,
      ask = (...args: string[]) => runXsp(args, path, running.signal);
    onPage(await ask("report", path, "-o", "-"));
    const [paths, metrics] = await Promise.all([PATHS_SQL, METRICS_SQL].map((sql) => ask("sql", "--json", path, sql)));
    const times = lineTimes(JSON.parse(paths!), JSON.parse(metrics!)),
      elsewhere = new Map<string, string[]>();
    for (const file of times.files.keys())
      if (!(await this.isHere(file))) elsewhere.set(baseName(file), [...(elsewhere.get(baseName(file)) ?? []), file]);
    const findings = await this.loadFindings(ask);
    running.signal.throwIfAborted();
    Object.assign(this, { times, elsewhere, ...findings });
  }

  private async loadFindings(ask: (...args: string[]) => Promise<string>) {
    try {
      return {
        findings: findingsIn(JSON.parse(await ask("analyze", "findings", this.uri.fsPath, "--json"))),
        findingsNote: "",
      };
    } catch (error) {
      const isOld = error instanceof XspError && error.status === WRONG_USE;
      return { findings: [], findingsNote: isOld ? "this xsp has no findings" : String((error as Error).message) };
    }
  }

  private async isHere(file: string): Promise<boolean> {
    if (!isLocal(file)) return false;
    return vscode.workspace.fs.stat(this.uri.with({ path: file })).then(
      () => true,
      () => false,
    );
  }

  // Files of this machine: the one recorded, else those of the workspace with the longest equal end.
  private async matches(file: string): Promise<vscode.Uri[]> {
    if (await this.isHere(file)) return [this.uri.with({ path: file })];
    const found = await filesNamed(baseName(file));
    const best = bestMatches(
      file,
      found.map((uri) => uri.path),
    );
    return found.filter((uri) => best.includes(uri.path));
  }
  async find(file: string): Promise<vscode.Uri | undefined> {
    const found = await this.matches(file);
    return found.length === 1 ? found[0] : undefined;
  }
  // The same for a click: the user chooses among several, and is told where there is none.
  async choose(file: string): Promise<vscode.Uri | undefined> {
    const found = await this.matches(file);
    if (found.length === 0)
      void vscode.window.showWarningMessage(`xsp: ${file} is neither on this machine nor in the workspace`);
    if (found.length <= 1) return found[0];
    const labels = found.map((uri) => ({ label: vscode.workspace.asRelativePath(uri), uri }));
    return (await vscode.window.showQuickPick(labels, { title: `Which one is ${file}?` }))?.uri;
  }

  // Times of an open file's lines, if it is the recorded file or a match of one.
  async linesOf(uri: vscode.Uri): Promise<Map<number, LineTime> | undefined> {
    const exact = this.times?.files.get(uri.path),
      name = baseName(uri.path);
    if (exact !== undefined || !this.elsewhere.has(name)) return exact;
    const found = (await filesNamed(name)).map((one) => one.path);
    const file = recordedAs(uri.path, this.elsewhere.get(name) ?? [], found);
    return file === undefined ? undefined : this.times?.files.get(file);
  }

  dispose() {
    this.running?.abort();
  }
}
