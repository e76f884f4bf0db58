// SPDX-License-Identifier: Apache-2.0
// Of a live page: what it is about, and the switch that stops it.
import { count, plural, time } from "../format";
import { basis, isLive, isPaused, problem } from "../live";
import { observationWord } from "../state";

export function LiveBar() {
  if (!isLive()) return null;
  const { version, spans, observations, first, length } = basis.value;
  return (
    <div
      class="live-bar"
      role="group"
      aria-label="Live"
      data-version={version}
      data-until={String(first + BigInt(Math.round(length)))}
    >
      <button
        type="button"
        aria-pressed={!isPaused.value}
        title={isPaused.value ? "Show the newest spans again" : "Keep what is shown"}
        onClick={() => (isPaused.value = !isPaused.value)}
      >
        <i class={`live-dot${isPaused.value || problem.value !== "" ? " is-off" : ""}`} />
        {isPaused.value ? "Paused" : "Live"}
      </button>
      <span class="quiet" title="This page shows the newest spans. Files have all: the list of files is at /">
        {problem.value !== ""
          ? problem.value
          : `the last ${time(length)}: ${count(spans)} spans, ${plural(observations, observationWord.value)}; the files have all`}
      </span>
    </div>
  );
}
