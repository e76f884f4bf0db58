// SPDX-License-Identifier: Apache-2.0
// The editor of *.xsp files: the page of `xsp report` in a webview. The page brings its own policy (only its script, no
// network) and posts the source line of a clicked context.
import * as vscode from "vscode";
import { Profile } from "./profile";
import { baseName, escapeGlob } from "./paths";

export const VIEW = "xsp.profile";
const SETTLED_MS = 500; // a file that is being written changes often

const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);
const message = (text: string) =>
  `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><p role="status">${escapeHtml(text)}</p>`;

export class ProfileView implements vscode.CustomReadonlyEditorProvider<Profile> {
  private readonly open = new Map<Profile, vscode.WebviewPanel>();
  private latest: Profile | undefined;
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event; // a profile was opened, loaded, shown or closed

  get profiles(): Profile[] {
    return [...this.open.keys()];
  }
  // The one whose times are shown: the last that was looked at.
  get shown(): Profile | undefined {
    return this.latest;
  }

  openCustomDocument(uri: vscode.Uri): Profile {
    return new Profile(uri);
  }

  resolveCustomEditor(profile: Profile, panel: vscode.WebviewPanel) {
    this.open.set(profile, panel);
    this.latest = profile;
    panel.webview.options = { enableScripts: true, localResourceRoots: [] };
    const folder = vscode.Uri.joinPath(profile.uri, ".."),
      pattern = new vscode.RelativePattern(folder, escapeGlob(baseName(profile.uri.path))),
      watcher = vscode.workspace.createFileSystemWatcher(pattern, false, false, true);
    let timer: NodeJS.Timeout | undefined;
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(() => void this.load(profile), SETTLED_MS);
    };
    const parts = [
      watcher,
      watcher.onDidChange(later),
      watcher.onDidCreate(later),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.load(profile)),
      panel.webview.onDidReceiveMessage((sent) => void this.receive(profile, sent)),
      panel.onDidChangeViewState(() => {
        if (panel.active) this.latest = profile;
        this.changed.fire();
      }),
    ];
    panel.onDidDispose(() => {
      clearTimeout(timer);
      for (const part of parts) part.dispose();
      this.open.delete(profile);
      if (this.latest === profile) this.latest = this.profiles.at(-1);
      this.changed.fire();
    });
    void this.load(profile);
  }

  async load(profile: Profile) {
    const webview = this.open.get(profile)?.webview;
    if (webview === undefined) return;
    if (!vscode.workspace.isTrusted) {
      webview.html = message("This workspace is not trusted, so xsp was not started. Trust it to see the profile.");
      return;
    }
    let isShown = webview.html.length > 0;
    if (!isShown) webview.html = message(`Reading ${profile.name}…`);
    try {
      await profile.load((html) => {
        webview.html = html;
        isShown = true;
      });
    } catch (error) {
      if ((error as Error).name === "AbortError") return;
      const text = `${profile.name} could not be read: ${(error as Error).message}`;
      if (isShown) void vscode.window.showErrorMessage(`xsp: ${text}`);
      else webview.html = message(text);
    }
    this.changed.fire();
  }

  private async receive(profile: Profile, sent: unknown) {
    const { type, file, line } = (sent ?? {}) as Record<string, unknown>;
    if (type !== "xsp.source" || typeof file !== "string" || !Number.isSafeInteger(line)) return;
    const uri = await profile.choose(file);
    if (uri === undefined) return;
    const document = await vscode.workspace.openTextDocument(uri),
      at = new vscode.Position(Math.min(Math.max(Number(line), 1), document.lineCount) - 1, 0);
    await vscode.window.showTextDocument(document, {
      viewColumn: vscode.ViewColumn.Beside,
      preserveFocus: true,
      preview: true,
      selection: new vscode.Range(at, at),
    });
  }
}
