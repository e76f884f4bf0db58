// SPDX-License-Identifier: Apache-2.0
// The active filters, each removable: the selected range, the focus, the search.
import { shownName } from "../focus";
import { time } from "../format";
import { focus, search, selection } from "../state";
import { CloseIcon } from "./icons";

function Chip({
  kind,
  what,
  whole = what,
  onRemove,
}: {
  kind: string;
  what: string;
  whole?: string;
  onRemove: () => void;
}) {
  return (
    <button type="button" class="chip" title={`${kind} ${whole}: remove`} onClick={onRemove}>
      <span class="quiet">{kind}</span> <span class="chip-what">{what}</span>
      <CloseIcon />
      <span class="unseen">: remove this filter</span>
    </button>
  );
}

export function Chips() {
  const range = selection.value,
    one = focus.value,
    wanted = search.value.trim();
  if (range === null && one === null && wanted === "") return null;
  return (
    <div class="chips" role="group" aria-label="Filters">
      {range !== null && (
        <Chip
          kind="range"
          what={`${time(range.to - range.from)} from ${time(range.from)}`}
          onRemove={() => (selection.value = null)}
        />
      )}
      {one !== null && (
        <Chip
          kind={one.kind}
          what={one.index === null ? shownName(one) : `${one.index} ${one.name}`}
          whole={one.name}
          onRemove={() => (focus.value = null)}
        />
      )}
      {wanted !== "" && <Chip kind="name has" what={wanted} onRemove={() => (search.value = "")} />}
    </div>
  );
}
