// SPDX-License-Identifier: Apache-2.0
// The help: keys by page, how to filter tables, and the licences of what this page is made of. A modal dialog; the browser
// gives the focus back to where it was.
import { useEffect, useRef } from "preact/hooks";
import { helpIsOpen } from "../state";
import { KEYS } from "./keys";

const licences = () => document.getElementById("xsp-licences")?.textContent?.trim() ?? "";

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
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
          {KEYS.map(({ title, keys }) => (
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
          ))}
          <section>
            <h3>Filters of tables</h3>
            <dl>
              <div>
                <dt>
                  <code>conv</code>
                </dt>
                <dd>rows that contain it anywhere</dd>
              </div>
              <div>
                <dt>
                  <code>type:conv</code>
                </dt>
                <dd>… in this column</dd>
              </div>
              <div>
                <dt>
                  <code>latency_ms&gt;2</code>
                </dt>
                <dd>numbers: &lt; &gt; &lt;= &gt;= =; a column's key is in its title</dd>
              </div>
              <div>
                <dt>
                  <code>-pool</code>
                </dt>
                <dd>rows without it; several terms: all hold</dd>
              </div>
            </dl>
          </section>
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
