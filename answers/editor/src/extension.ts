// SPDX-License-Identifier: Apache-2.0
// Starts the extension: the editor of profiles, times in the margin of source files, findings as problems, commands.
import * as vscode from "vscode";
import { messageOf, type Finding } from "./findings";
import { Margin } from "./margin";
import type { Profile } from "./profile";
import { ProfileView, VIEW } from "./view";

const SEVERITIES: Record<string, vscode.DiagnosticSeverity> = {
  high: vscode.DiagnosticSeverity.Warning,
  medium: vscode.DiagnosticSeverity.Information,
  low: vscode.DiagnosticSeverity.Information,
};

function problemOf(finding: Finding, line: number): vscode.Diagnostic {
  const range = new vscode.Range(line - 1, 0, line - 1, Number.MAX_SAFE_INTEGER);
  const problem = new vscode.Diagnostic(
    range,
    messageOf(finding),
    SEVERITIES[finding.severity] ?? vscode.DiagnosticSeverity.Information,
  );
  problem.source = "xsp";
  problem.code = finding.id;
  return problem;
}

// Findings without a line, or whose file is not here, are problems of the profile.
async function showProblems(problems: vscode.DiagnosticCollection, profiles: Profile[]) {
  const found = new Map<string, [vscode.Uri, vscode.Diagnostic[]]>();
  for (const profile of profiles)
    for (const finding of profile.findings) {
      const here = finding.file === null ? undefined : await profile.find(finding.file),
        uri = here ?? profile.uri,
        [, list] = found.get(uri.toString()) ?? [uri, []];
      found.set(uri.toString(), [uri, [...list, problemOf(finding, here === undefined ? 1 : (finding.line ?? 1))]]);
    }
  problems.clear();
  problems.set([...found.values()]);
}

function showStatus(item: vscode.StatusBarItem, profile: Profile | undefined) {
  if (profile === undefined) return item.hide();
  const { findings, findingsNote, name } = profile,
    count = findings.length === 1 ? "1 finding" : `${findings.length || "no"} findings`;
  item.text = `$(flame) ${name}: ${findingsNote || count}`;
  item.tooltip = "xsp: profile whose line times are shown; click: problems";
  item.command = "workbench.actions.view.problems";
  item.show();
}

export function activate(context: vscode.ExtensionContext) {
  const view = new ProfileView(),
    margin = new Margin(),
    problems = vscode.languages.createDiagnosticCollection("xsp"),
    status = vscode.window.createStatusBarItem("xsp.profile", vscode.StatusBarAlignment.Left);
  status.name = "xsp";
  const settings = () => vscode.workspace.getConfiguration("xsp"),
    showTimes = () => {
      const shown = settings().get<boolean>("lineTimes", true) ? view.shown : undefined;
      for (const editor of vscode.window.visibleTextEditors) void margin.show(editor, shown);
    };
  context.subscriptions.push(
    margin,
    problems,
    status,
    vscode.window.registerCustomEditorProvider(VIEW, view, { webviewOptions: { retainContextWhenHidden: true } }),
    view.onDidChange(() => {
      showTimes();
      showStatus(status, view.shown);
      void showProblems(problems, view.profiles);
    }),
    vscode.window.onDidChangeVisibleTextEditors(showTimes),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("xsp.lineTimes") && showTimes()),
    vscode.commands.registerCommand("xsp.open", async () => {
      const chosen = await vscode.window.showOpenDialog({ filters: { "xsp profiles": ["xsp"] } });
      for (const uri of chosen ?? []) await vscode.commands.executeCommand("vscode.openWith", uri, VIEW);
    }),
    vscode.commands.registerCommand("xsp.lineTimes", () =>
      settings().update("lineTimes", !settings().get<boolean>("lineTimes", true), vscode.ConfigurationTarget.Global),
    ),
    vscode.commands.registerCommand("xsp.refresh", () => {
      if (view.shown !== undefined) return view.load(view.shown);
      return vscode.window.showInformationMessage("xsp: no profile is open; try xsp: Open Profile");
    }),
  );
}
