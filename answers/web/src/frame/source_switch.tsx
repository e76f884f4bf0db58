// SPDX-License-Identifier: Apache-2.0
// The switch for links from source lines to VS Code. The browser remembers it for this file only: not in the address, so that
// a file or a link from somebody else never comes with it on.
import { host } from "../editor";
import { areLinksOn } from "../source";
import { documentData } from "../state";

const KEY = `xsp.links ${location.pathname}`;

// A browser may forbid storage; the switch then holds until the page is closed.
export function startSourceSwitch() {
  try {
    areLinksOn.value = localStorage.getItem(KEY) === "on";
  } catch {
    areLinksOn.value = false;
  }
}
function turn(isOn: boolean) {
  areLinksOn.value = isOn;
  try {
    if (isOn) localStorage.setItem(KEY, "on");
    else localStorage.removeItem(KEY);
  } catch {
    return;
  }
}

export function SourceSwitch() {
  if (host !== undefined || documentData.value!.sources.name.length === 0) return null;
  return (
    <section>
      <h3>Settings</h3>
      <label>
        <input type="checkbox" checked={areLinksOn.value} onChange={(event) => turn(event.currentTarget.checked)} />{" "}
        Source lines are links that open VS Code. This browser remembers it for this file.
      </label>
    </section>
  );
}
