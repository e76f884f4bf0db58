// SPDX-License-Identifier: Apache-2.0
// One file: script and style inline, a Content-Security-Policy that allows exactly these two by their hashes, and the
// licences of the packages whose code is in it.
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";
import { createHash } from "node:crypto";
import fs from "node:fs";

const page = "dist/index.html";
const template = process.env.XSP_TEMPLATE ?? "../report/page/template.html";

const folders = new Set(); // of packages in the bundle
function licences() {
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(fs.readFileSync(`${folder}/package.json`, "utf8"));
    const file = fs.readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined)
      throw new Error(`${folder} has no licence file: its code may not be in the page without one`);
    return `${name} ${version}: ${license}\n\n${fs.readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
  });
  if (texts.length === 0) throw new Error("no package found in the bundle: the licences would be missing");
  const all = texts.join("\n\n");
  if (/<[/!]/.test(all)) throw new Error("a licence text would end its element");
  return all;
}

const policy = {
  name: "policy",
  enforce: "pre",
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle))
      for (const id of chunk.moduleIds ?? []) {
        const folder = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id);
        if (folder !== null) folders.add(folder[0]);
      }
  },
  closeBundle() {
    let html = fs.readFileSync(page, "utf8");
    // It runs while the data is still being read.
    html = html.replace('<script type="module"', '<script type="module" async');
    const hashes = (pattern) =>
      [...html.matchAll(pattern)]
        .map((match) => `'sha256-${createHash("sha256").update(match[1]).digest("base64")}'`)
        .join(" ");
    const scripts = hashes(/<script type="module"[^>]*>([\s\S]*?)<\/script>/g);
    const styles = hashes(/<style[^>]*>([\s\S]*?)<\/style>/g);
    html = html.replace(
      "__POLICY__",
      `default-src 'none'; script-src ${scripts}; style-src ${styles}; style-src-attr 'none'; connect-src 'none'; img-src data: blob:; base-uri 'none'; form-action 'none'`,
    );
    html = html.replace("__LICENCES__", () => licences());
    fs.writeFileSync(template, html);
  },
};
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), policy],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: { target: "es2022", cssMinify: true },
});
