// SPDX-License-Identifier: Apache-2.0
// The search field of the head: highlights and counts spans by name on every page, Enter goes through them on the timeline.
import { useState } from "preact/hooks";
import { found, matching, wanted } from "../find";
import { count, digits, plural, time } from "../format";
import { failure, page, search } from "../state";
import { goToMatch } from "../windows";
import { SearchIcon } from "./icons";

export function Finder() {
  const hits = found.value,
    { error } = wanted.value,
    [number, setNumber] = useState(0); // of the match last visited
  const go = (by: 1 | -1) => {
    const names = matching.value;
    if (names === null) return;
    const fail = (error: Error) => (failure.value ||= error.message);
    goToMatch(names, by).then((next) => {
      setNumber(next);
      if (next > 0) page.value = "timeline";
    }, fail);
  };
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLInputElement }) => {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") event.currentTarget.blur();
    else return;
    event.preventDefault();
  };
  return (
    <div class="finder" role="search">
      <SearchIcon />
      <input
        id="find"
        type="search"
        placeholder="Find spans: text or /regex/"
        aria-label="Find spans by name: text, or a regular expression between slashes"
        aria-invalid={error !== null}
        autocomplete="off"
        spellcheck={false}
        value={search.value}
        onInput={(event) => {
          search.value = event.currentTarget.value;
          setNumber(0);
        }}
        onKeyDown={onKeyDown}
      />
      <kbd aria-hidden="true">/</kbd>
      <span class="finder-found" role="status">
        {error !== null && <span class="warn">no regular expression: {error}</span>}
        {hits !== null &&
          (hits.count === 0
            ? "no span in this run"
            : `${number > 0 ? `${count(number)} of ` : ""}${plural(hits.count, "span")} · ${time(hits.time)} · ${digits(100 * hits.share, 3)} % of ${hits.share > 0 ? "their levels' time" : "the time"}`)}
      </span>
    </div>
  );
}
