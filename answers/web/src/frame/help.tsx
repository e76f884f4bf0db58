// SPDX-License-Identifier: Apache-2.0
// The help: keys by page, how to filter tables, settings, and the licences of this page's libraries. A modal dialog; the browser
// gives the focus back to where it was.
import { useLayoutEffect, useRef } from "preact/hooks";
import { helpIsOpen } from "../state";
import { KEYS } from "./keys";
import { SourceSwitch } from "./source_switch";

const licences = () => document.getElementById("xsp-licences")?.textContent?.trim() ?? "";

const LONGEST = "Timeline"; // the longest name of a page
const FILTERS = [
  ["conv", "rows that contain it anywhere"],
  ["type:conv", "rows that contain it in this column"],
  ["latency_ms>2", "also <, <=, >=, =; a column's key is in its title"],
  ["-pool", "rows without it; several terms: all hold"],
];

const Group = ({ title, keys }: (typeof KEYS)[number]) => (
  <section key={title}>
    <h3>{title}</h3>
    <dl>
      {keys.map(({ keys: shown, what }) => (
        <div key={shown.join() + what}>
          <dt>
            {shown.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  </section>
);

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (helpIsOpen.value && !dialog.current!.open) dialog.current!.showModal();
    if (!helpIsOpen.value && dialog.current!.open) dialog.current!.close();
  }, [helpIsOpen.value]);
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-labelledby="help-title"
      onClose={() => (helpIsOpen.value = false)}
      onClick={(event) => event.target === event.currentTarget && dialog.current!.close()}
    >
      <div class="help-body">
        <div class="tools">
          <h2 id="help-title">Keys</h2>
          <span class="spacer-flex" />
          <button type="button" onClick={() => dialog.current!.close()}>
            Close
          </button>
        </div>
        <div class="help-columns">
          <div>
            {KEYS.filter((group) => group.title !== LONGEST).map(Group)}
            <section>
              <h3>Filters of tables</h3>
              <dl>
                {FILTERS.map(([example, what]) => (
                  <div key={example}>
                    <dt>
                      <code>{example}</code>
                    </dt>
                    <dd>{what}</dd>
                  </div>
                ))}
              </dl>
            </section>
          </div>
          <div>
            {KEYS.filter((group) => group.title === LONGEST).map(Group)}
            <SourceSwitch />
          </div>
        </div>
        {licences() !== "" && (
          <details>
            <summary>Licences of the software in this page</summary>
            <pre>{licences()}</pre>
          </details>
        )}
      </div>
    </dialog>
  );
}
