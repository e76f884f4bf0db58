// SPDX-License-Identifier: Apache-2.0
// The page without data (xsp.html of make dist): takes an .xsp file and hands it to the page. Nothing is sent anywhere.
import { render } from "preact";
import { useState } from "preact/hooks";
import { checkDocument, type Document_ } from "../data";
import { openParts } from "../parts";
import { documentOf } from "./document";

async function read(file: File): Promise<Document_> {
  const { made, parts } = documentOf(file.name, new Uint8Array(await file.arrayBuffer()));
  const checked = checkDocument(made);
  openParts(parts);
  return checked;
}

function Drop({ onDocument }: { onDocument: (document_: Document_) => void }) {
  const [said, setSaid] = useState("");
  const take = (file: File | undefined) => {
    if (file === undefined) return;
    setSaid(`Reading ${file.name}…`);
    const failed = (error: unknown) => setSaid(`${file.name}: ${error instanceof Error ? error.message : error}`);
    setTimeout(() => void read(file).then(onDocument, failed)); // after the line is on the screen
  };
  return (
    <main
      class="pad"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        take(event.dataTransfer?.files[0]);
      }}
    >
      <h1>Open an .xsp file</h1>
      <p>
        <label>
          Drop it here, or choose it:{" "}
          <input type="file" accept=".xsp" onChange={(event) => take(event.currentTarget.files?.[0])} />
        </label>
      </p>
      <p role="status">{said}</p>
      <p class="quiet">
        The file stays on this machine. Timeline, flame graph and search are here; <code>xsp report FILE</code> makes a
        page with all tables, tags, samples and source lines.
      </p>
    </main>
  );
}

export function droppedDocument(place: HTMLElement): Promise<Document_> {
  place.replaceChildren(); // the message shown while the page was read
  return new Promise((done) =>
    render(
      <Drop
        onDocument={(document_) => {
          if (location.hash === "") history.replaceState(null, "", "#page=timeline");
          done(document_);
        }}
      />,
      place,
    ),
  );
}
