// SPDX-License-Identifier: Apache-2.0
// Starts xsp and collects what it prints. Never in an untrusted workspace: the setting xsp.path may come from it.
import * as vscode from "vscode";
import { spawn } from "node:child_process";
import { dirname } from "node:path";

const OUTPUT_MOST = 512 * 1024 * 1024;

export class XspError extends Error {
  constructor(
    message: string,
    readonly status: number | null,
  ) {
    super(message);
  }
}

export function runXsp(args: string[], file: string, signal: AbortSignal): Promise<string> {
  if (!vscode.workspace.isTrusted) return Promise.reject(new XspError("the workspace is not trusted", null));
  const program = vscode.workspace.getConfiguration("xsp").get<string>("path") || "xsp";
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: dirname(file), signal, stdio: ["ignore", "pipe", "pipe"] });
    const chunks: Buffer[] = [];
    let size = 0,
      errors = "";
    child.stdout.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= OUTPUT_MOST) return;
      child.kill();
      reject(new XspError(`xsp ${args[0]} printed more than 512 MiB`, null));
    });
    child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)));
    child.on("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "ENOENT"
          ? new XspError(`the program ${program} was not found; set xsp.path to where xsp is installed`, null)
          : error,
      ),
    );
    child.on("close", (status) => {
      if (status === 0) resolve(Buffer.concat(chunks).toString("utf8"));
      else reject(new XspError(errors.trim() || `xsp ${args[0]} ended with status ${status}`, status));
    });
  });
}
