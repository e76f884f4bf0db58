// SPDX-License-Identifier: Apache-2.0
// The search field of the head: highlights and counts spans by name on every page, Enter goes through them on the timeline.
import { useState } from "preact/hooks";
import { found } from "../find";
import { count, digits, plural, time } from "../format";
import { page, search, selected } from "../state";
import { SearchIcon } from "./icons";

export function Finder() {
  const hits = found.value,
    [at, setAt] = useState(-1);
  const go = (by: number) => {
    if (hits === null || hits.first.length === 0) return;
    const next = (Math.max(at, by < 0 ? 0 : -1) + by + hits.first.length) % hits.first.length;
    setAt(next);
    page.value = "timeline";
    selected.value = hits.first[next];
  };
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLInputElement }) => {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      if (search.value === "") event.currentTarget.blur();
      search.value = "";
    } else return;
    event.preventDefault();
  };
  return (
    <div class="finder" role="search">
      <SearchIcon />
      <input
        id="find"
        type="search"
        placeholder="Find spans by name"
        aria-label="Find spans by name"
        autocomplete="off"
        spellcheck={false}
        value={search.value}
        onInput={(event) => {
          search.value = event.currentTarget.value;
          setAt(-1);
        }}
        onKeyDown={onKeyDown}
      />
      <kbd aria-hidden="true">/</kbd>
      <span class="finder-found" role="status">
        {hits !== null &&
          (hits.count === 0
            ? "no span of this run"
            : `${at >= 0 ? `${count(at + 1)} of ` : ""}${plural(hits.count, "span")} · ${time(hits.time)} · ${digits(100 * hits.share, 3)} % of ${hits.share > 0 ? "their levels' time" : "the time"}`)}
      </span>
    </div>
  );
}
