// SPDX-License-Identifier: Apache-2.0
// The agent's page: starts evaluations, shows how far they are, lays their results side by side, publishes manifests. It only calls the agent's own paths.
"use strict";
const POLL_MS = 500;
// Where less is better; of the other figures more is.
const COSTS = new Set(["latency_ms", "p90_ms", "p99_ms", "preprocess_ms", "postprocess_ms", "cer_pct"]);
const HIDDEN = new Set(["model", "framework", "framework_version"]);
const byId = (id) => document.getElementById(id);
const jobs = new Map(); // id → {job, row}
const started = new Map(); // here: id → models
let chosen = null; // the row that others are compared with: "ID 0"

const element = (name, text, attributes = {}) => {
  const made = document.createElement(name);
  made.textContent = text ?? "";
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

const ask = async (path, options) => {
  const reply = await fetch(path, options), text = await reply.text();
  const body = text === "" ? null : JSON.parse(text);
  if (!reply.ok) throw new Error(body?.error?.message ?? `${path}: ${reply.status}`);
  return body;
};

const show = (number) => typeof number === "boolean" ? (number ? "yes" : "no") : typeof number !== "number" ? number ?? "–" : Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(4)));

// ---- what can be chosen
const choices = async () => {
  const [system, {models, may_change}, data] = [await ask("system"), await ask("models"), await ask("data")];
  byId("agent").textContent = `${system.name}: ${system.cpu_model ?? system.architecture ?? ""}`;
  const before = new Set([...document.querySelectorAll("input[name=model]:checked")].map((box) => box.value));
  byId("models").replaceChildren(...models.map((model, number) => {
    const label = element("label"), box = element("input", "", {type: "checkbox", name: "model", value: `${model.name}==${model.version}`});
    box.checked = before.size === 0 ? number === 0 : before.has(box.value);
    box.dataset.framework = model.framework;
    label.append(box, ` ${model.name} ${model.version}, ${model.framework}`);
    return label;
  }));
  const name = byId("data").value, device = byId("device").value;
  const none = element("option", "none: start the agent with --data FOLDER", {value: ""});
  byId("data").replaceChildren(...(data.data.length === 0 ? [none] : data.data.map((name) => element("option", name, {value: name}))));
  if (data.data.includes(name)) byId("data").value = name;
  const gpus = Array.from({length: system.gpus ?? 0}, (_, number) => `gpu:${number}`);
  byId("device").replaceChildren(element("option", "as the manifest says", {value: ""}), ...["cpu", ...gpus].map((name) => element("option", name, {value: name})));
  byId("device").value = device;
  byId("metrics-of-gpus").hidden = gpus.length === 0;
  byId("manifests").replaceChildren(...models.map((model) => manifestLine(model, may_change)));
  byId("publish").hidden = !may_change;
  byId("no-publishing").hidden = may_change;
};

// ---- manifests
const manifestLine = (model, may_change) => {
  const item = element("li");
  item.append(element("strong", model.file), element("span", `${model.name} ${model.version}, ${model.task}, ${model.framework}${model.framework_version ? ` ${model.framework_version}` : ""}`));
  if (!may_change) return item;
  const button = element("button", "Remove", {"aria-label": `Remove ${model.file}`});
  button.addEventListener("click", () => change(() => ask(`models/${encodeURIComponent(model.file)}`, {method: "DELETE"})));
  item.append(button);
  return item;
};

const change = async (request) => {
  byId("publish-problem").textContent = "";
  try {
    await request();
    await choices();
  } catch (error) {
    byId("publish-problem").textContent = error.message;
  }
};

const publish = (event) => {
  event.preventDefault();
  return change(async () => {
    await ask(`models/${encodeURIComponent(byId("file").value)}`, {method: "PUT", headers: {"Content-Type": "application/yaml"}, body: byId("manifest").value});
    byId("file").value = byId("manifest").value = "";
  });
};

// Times are of one model, without data.
const chooseVerb = () => {
  const is_profile = byId("verb").value === "profile";
  for (const id of ["data", "limit", "scenarios"]) byId(id).disabled = is_profile;
  byId("metrics").disabled = !is_profile;
};

const start = async (event) => {
  event.preventDefault();
  byId("problem").textContent = "";
  const checked = (name) => [...document.querySelectorAll(`input[name=${name}]:checked`)].map((box) => box.value);
  const is_profile = byId("verb").value === "profile", batch = byId("batch").value;
  const job = {models: checked("model"), batch: is_profile || batch.includes(",") ? batch : Number(batch)};
  if (is_profile) job.verb = "profile";
  else job.data = byId("data").value;
  for (const key of ["levels", "device"]) if (byId(key).value !== "") job[key] = byId(key).value;
  if (is_profile && byId("metrics").value !== "") job.cuda = `metrics=${byId("metrics").value}`;
  const frameworks = new Set([...document.querySelectorAll("input[name=model]:checked")].map((box) => box.dataset.framework));
  if (frameworks.size === 1) [job.framework] = frameworks; // of a name's models in several
  const scenarios = checked("scenario"), limit = Number(byId("limit").value);
  if (!is_profile && scenarios.length > 0) job.scenario = scenarios;
  if (!is_profile && limit > 0) job.limit = limit;
  if (byId("spans").value !== "") job.publish = byId("spans").value;
  try {
    if (job.models.length === 0) throw new Error("choose a model");
    const {id} = await ask("evaluations", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(job)});
    started.set(id, job.models.map((model) => model.split("==")[0]).join(", "));
    const is_streamed = job.publish && (is_profile || (job.models.length === 1 && scenarios.length === 0)); // docs/publish.md
    if (is_streamed) localStorage.setItem(`spans ${id}`, new URL("/live", job.publish).href);
    await look();
  } catch (error) {
    byId("problem").textContent = error.message;
  }
};

// ---- how far they are
const remove = async (id) => {
  try {
    await ask(`evaluations/${id}`, {method: "DELETE"});
    await look();
  } catch (error) {
    byId("problem").textContent = error.message;
  }
};

const line = ({job}) => {
  const item = element("li", "", {"data-state": job.state, "data-id": job.id}), is_over = !["queued", "running"].includes(job.state);
  const text = job.error ?? job.progress ?? (job.place ? `place ${job.place} in the queue` : "");
  const button = element("button", is_over ? "Remove" : "End", {"aria-label": `${is_over ? "Remove" : "End"} ${job.id.slice(0, 8)}`});
  button.addEventListener("click", () => remove(job.id));
  item.append(element("code", job.id.slice(0, 8)), started.get(job.id) ?? "", element("strong", job.state, {class: job.state === "failed" ? "bad" : ""}), element("span", text));
  const spans = localStorage.getItem(`spans ${job.id}`);
  if (job.state === "running" && spans) item.append(element("span", `spans: ${spans}`, {class: "spans", title: "an address to paste: the server refuses links of other pages"}));
  if (job.state === "done") item.append(element("a", "trace", {href: `evaluations/${job.id}/file`, download: `${job.id.slice(0, 8)}.xsp`}));
  item.append(button);
  return item;
};

// The focus stays where it is: lines change twice a second.
let shown = "";
const showLines = () => {
  const list = byId("jobs"), lines = jobs.size > 0 ? [...jobs.values()].map(line) : [element("li", "nothing yet", {class: "quiet"})];
  const text = lines.map((one) => one.outerHTML).join("");
  if (text === shown) return;
  shown = text;
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  list.replaceChildren(...lines);
  if (focused) list.querySelector(`li[data-id="${focused.closest("li").dataset.id}"] ${focused.tagName}`)?.focus();
};

// ---- results side by side
const rows = () => [...jobs.values()].flatMap(({job, tables}) => (tables?.[0]?.rows ?? []).map((row, number) => ({
  id: `${job.id} ${number}`, row: {model: started.get(job.id) ?? job.id.slice(0, 8), ...row}})));

const cell = (key, value, base) => {
  const is_number = typeof value === "number", made = element("td", show(value), {class: is_number ? "number" : ""});
  if (!/_(ms|pct|per_s)$/.test(key) || !is_number || typeof base !== "number" || base === 0 || value === base) return made;
  const change = 100 * (value - base) / Math.abs(base);
  made.append(" ", element("small", `${change > 0 ? "+" : ""}${change.toFixed(1)} %`, {class: (change < 0) === COSTS.has(key) ? "good" : "bad"}));
  return made;
};

const results = () => {
  const all = rows(), keys = [...new Set(all.flatMap(({row}) => Object.keys(row)))].filter((key) => !HIDDEN.has(key));
  const base = all.find(({id}) => id === chosen) ?? all[0];
  const head = element("tr");
  for (const text of all.length > 0 ? ["base", "model", "framework", ...keys] : []) head.append(element("th", text.replaceAll("_", " "), {scope: "col"}));
  byId("results").tHead.replaceChildren(head);
  byId("results").tBodies[0].replaceChildren(...all.map(({id, row}) => {
    const made = element("tr"), place = element("td"), radio = element("input", "", {type: "radio", name: "base", "aria-label": `compare with ${row.model}`});
    radio.checked = id === base.id;
    radio.addEventListener("change", () => {
      chosen = id;
      results();
      byId("results").querySelector("input:checked").focus();
    });
    place.append(radio);
    made.append(place, element("td", row.model), element("td", [row.framework, row.framework_version].filter(Boolean).join(" ")));
    for (const key of keys) made.append(cell(key, row[key], id === base.id ? undefined : base.row[key]));
    return made;
  }));
};

const look = async () => {
  const list = (await ask("evaluations")).evaluations, ids = new Set(list.map(({id}) => id));
  let is_changed = false;
  for (const id of jobs.keys()) if (!ids.has(id)) {
    is_changed = jobs.delete(id);
    localStorage.removeItem(`spans ${id}`);
  }
  for (const job of list) {
    const known = jobs.get(job.id) ?? {};
    jobs.set(job.id, known);
    known.job = job;
    if (job.state !== "done" || known.tables) continue;
    const {result} = await ask(`evaluations/${job.id}`);
    known.tables = Array.isArray(result) ? result : [result];
    is_changed = true;
  }
  showLines();
  if (is_changed) results();
};

const watch = async () => {
  try {
    await look();
    if (document.body.dataset.state === "away") {
      await choices(); // it may have been started again, with others
      byId("problem").textContent = "";
    }
    document.body.dataset.state = "current";
  } catch (error) {
    document.body.dataset.state = "away";
    byId("problem").textContent = `the agent does not answer: ${error.message}`;
  }
  setTimeout(watch, POLL_MS);
};

byId("start").addEventListener("submit", start);
byId("publish").addEventListener("submit", publish);
byId("verb").addEventListener("change", chooseVerb);
chooseVerb();
choices().catch((error) => { byId("problem").textContent = error.message; });
watch();
