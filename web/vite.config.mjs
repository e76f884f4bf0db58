// SPDX-License-Identifier: Apache-2.0
// One file: script and style inline, and a Content-Security-Policy that allows exactly these two by their hashes.
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";
import { createHash } from "node:crypto";
import fs from "node:fs";

const page = "dist/index.html";
const template = process.env.XSP_TEMPLATE ?? "../report/page_template.html";
const policy = {
  name: "policy",
  closeBundle() {
    let html = fs.readFileSync(page, "utf8");
    const hashes = (pattern) =>
      [...html.matchAll(pattern)]
        .map((match) => `'sha256-${createHash("sha256").update(match[1]).digest("base64")}'`)
        .join(" ");
    const scripts = hashes(/<script type="module"[^>]*>([\s\S]*?)<\/script>/g);
    const styles = hashes(/<style[^>]*>([\s\S]*?)<\/style>/g);
    html = html.replace(
      "__POLICY__",
      `default-src 'none'; script-src ${scripts}; style-src ${styles}; style-src-attr 'none'; img-src data: blob:; base-uri 'none'; form-action 'none'`,
    );
    fs.writeFileSync(template, html);
  },
};
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), policy],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: { target: "es2022", cssMinify: true },
});
