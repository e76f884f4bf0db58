// SPDX-License-Identifier: Apache-2.0
// The head of every page: name, run, search, pages and active filters.
import { useEffect, useRef } from "preact/hooks";
import type { RunFacts } from "../data";
import { ExportMenu } from "../exports/menu";
import {
  chooseRun,
  defaultRun,
  documentData,
  experiment,
  experimentRuns,
  fragment,
  helpIsOpen,
  page,
  PAGES,
  pageTitle,
  run,
  sameExperiment,
  type Page,
} from "../state";
import { reasonOf } from "../pages/reasons";
import { BatchChooser, RunChooser } from "../widgets/parts";
import { Chips } from "./chips";
import { Finder } from "./finder";
import { Mark, MoonIcon, SunIcon } from "./icons";
import { LiveBar } from "./live_bar";
import { themeWanted, toggleTheme } from "./theme";

// Experiments of one name in a file are distinguished as in `xsp analyze`: by framework and version, else by id.
const experimentName = (facts: RunFacts | undefined) => {
  const data = documentData.value!;
  const one = data.experiments.find(
    (other) => other.file === facts?.file && other.experiment_id === facts.experiment_id,
  );
  const name = one?.name ?? one?.workload ?? data.files[facts?.file ?? 0].name;
  const twins = data.experiments.filter(
    (other) => other.file === one?.file && other.experiment_id !== one.experiment_id && other.name === one.name,
  );
  if (one === undefined || one.framework === null || twins.length === 0) return name;
  const isSame = twins.some(
    (other) => other.framework === one.framework && other.framework_version === one.framework_version,
  );
  const version = one.framework_version === null ? "" : ` ${one.framework_version}`;
  return `${name} in ${one.framework}${version}${isSame ? `, experiment ${one.experiment_id}` : ""}`;
};

// One entry per experiment: its first run.
function ExperimentChooser() {
  const data = documentData.value!,
    firsts = data.runs.filter((facts, i) => data.runs.findIndex((other) => sameExperiment(other, facts)) === i);
  if (firsts.length < 2) return <h1 title={experimentName(run.value)}>{experimentName(run.value)}</h1>;
  const label = (facts: RunFacts) => {
    const file = data.files[facts.file].name,
      name = experimentName(facts);
    if (data.files.length === 1) return name;
    return file.includes(name) && firsts.filter((other) => other.file === facts.file).length === 1
      ? file
      : `${file}: ${name}`;
  };
  return (
    <>
      <h1 class="unseen">{experimentName(run.value)}</h1>
      <label class="chooser-label">
        <span class="unseen">Experiment</span>
        <select
          class="experiment"
          value={firsts.find((facts) => run.value !== undefined && sameExperiment(facts, run.value))?.run}
          onChange={(event) => {
            const first = data.runs[Number(event.currentTarget.value)];
            chooseRun(defaultRun(data.runs.filter((facts) => sameExperiment(facts, first)))!.run);
          }}
        >
          {firsts.map((facts) => (
            <option key={facts.run} value={facts.run}>
              {label(facts)}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

// Pages about some programs only: without data they are not even grey.
const SOME: Page[] = ["input", "generations", "compilation", "ranks", "comparison"];
const isListed = (name: Page) => !SOME.includes(name) || page.value === name || reasonOf(name) === "";

// A link whose address begins with "#" counts as a skip link.
const base = location.pathname;

function Pages() {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    // where the pages do not fit side by side
    const current = box.current!.querySelector<HTMLElement>("[aria-current]")!;
    box.current!.scrollLeft = current.offsetLeft - (box.current!.clientWidth - current.offsetWidth) / 2;
  }, [page.value]);
  return (
    <nav aria-label="Pages" ref={box}>
      {PAGES.filter(isListed).map((name) => (
        <a
          key={name}
          href={base + fragment(name)}
          class={reasonOf(name) === "" ? undefined : "is-empty"}
          title={reasonOf(name) || undefined}
          aria-current={page.value === name ? "page" : undefined}
        >
          {pageTitle(name)}
        </a>
      ))}
    </nav>
  );
}

export function Header() {
  const isDark = themeWanted() === "dark",
    facts = experiment.value;
  return (
    <header>
      <button type="button" class="skip" onClick={() => document.querySelector("main")?.focus()}>
        Skip to the content
      </button>
      <div class="head-line">
        <div class="what">
          <Mark />
          <ExperimentChooser />
          {facts?.framework != null && (
            <span class="quiet what-in">
              {facts.framework} {facts.framework_version ?? ""}
            </span>
          )}
        </div>
        <div class="choosers">
          <BatchChooser />
          {experimentRuns.value.length > 1 && <RunChooser />}
        </div>
        <Finder />
        <div class="head-buttons">
          <ExportMenu />
          <button
            type="button"
            class="icon-button"
            onClick={toggleTheme}
            aria-label={isDark ? "Light colours" : "Dark colours"}
            title={isDark ? "Light colours" : "Dark colours"}
          >
            {isDark ? <SunIcon /> : <MoonIcon />}
          </button>
          <button
            type="button"
            class="icon-button"
            onClick={() => (helpIsOpen.value = true)}
            aria-label="Keys and help"
            title="Keys and help"
          >
            ?
          </button>
        </div>
      </div>
      <div class="nav-line">
        <Pages />
        <LiveBar />
        <Chips />
      </div>
    </header>
  );
}
