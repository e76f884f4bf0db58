// SPDX-License-Identifier: Apache-2.0
// The line above a table: number of rows, filter, columns, copies.
import { useEffect, useState } from "preact/hooks";
import { count, plural } from "../format";
import { details, setDetail } from "../state";
import { copyText, saveFile } from "./copy";
import { Menu } from "./menu";
import { asCsv, asMarkdown, asTsv, type TableColumn } from "./table_rows";

interface Properties<Row> {
  id: string;
  caption: string;
  columns: TableColumn<Row>[];
  rows: Row[];
  shown: TableColumn<Row>[]; // columns
  ordered: Row[]; // rows that pass the filter
}

function Filter<Row>({ id, caption, columns }: Properties<Row>) {
  const key = `table.${id}.filter`,
    text = columns[0]?.key,
    number = columns.find((column) => !column.isText)?.key ?? "n";
  return (
    <input
      type="search"
      placeholder="Filter"
      aria-label={`Filter ${caption}`}
      title={`Text, ${text}:text or ${number}>1; ? has more`}
      spellcheck={false}
      autocomplete="off"
      value={details.value[key] ?? ""}
      onInput={(event) => setDetail(key, event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        setDetail(key, "");
      }}
    />
  );
}

function Columns<Row>({ id, caption, columns, shown }: Properties<Row>) {
  const hidden = (details.value[`table.${id}.hide`] ?? "").split(",").filter((key) => key !== "");
  const hide = (key: string, isShown: boolean) =>
    setDetail(`table.${id}.hide`, (isShown ? hidden.filter((one) => one !== key) : [...hidden, key]).join());
  return (
    <Menu text="Columns" label={`Columns of ${caption}`}>
      {() =>
        columns.map((column) => (
          <label key={column.key} class="menu-item" title={column.title}>
            <input
              type="checkbox"
              checked={!hidden.includes(column.key)}
              disabled={shown.length === 1 && shown[0] === column}
              onChange={(event) => hide(column.key, event.currentTarget.checked)}
            />
            {column.label}
          </label>
        ))
      }
    </Menu>
  );
}

function Copies<Row>({ id, caption, shown, ordered, onDone }: Properties<Row> & { onDone: (message: string) => void }) {
  const copy = (what: string, text: string, close: () => void) =>
    copyText(text).then(() => {
      onDone(`${plural(ordered.length, "row")} copied as ${what}`);
      close();
    });
  const save = (close: () => void) => {
    saveFile(`${id}.csv`, "text/csv", [asCsv(ordered, shown)]);
    close();
  };
  return (
    <Menu text="Copy" label={`Copy ${caption}`}>
      {(close) => (
        <>
          <button type="button" class="menu-item" onClick={() => copy("TSV", asTsv(ordered, shown), close)}>
            Copy for spreadsheets (TSV)
          </button>
          <button type="button" class="menu-item" onClick={() => copy("Markdown", asMarkdown(ordered, shown), close)}>
            Copy as Markdown
          </button>
          <button type="button" class="menu-item" onClick={() => save(close)}>
            Save as CSV file
          </button>
        </>
      )}
    </Menu>
  );
}

const SAID_MS = 2000;
export function TableTools<Row>(properties: Properties<Row>) {
  const { caption, rows, ordered } = properties,
    [message, setMessage] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setMessage(""), SAID_MS);
    return () => clearTimeout(timer);
  }, [message]);
  const counted =
    ordered.length === rows.length
      ? plural(rows.length, "row")
      : `${count(ordered.length)} of ${plural(rows.length, "row")}`;
  return (
    <div class="table-tools">
      <h3>{caption}</h3>
      <span class="quiet" role="status">
        {message || counted}
      </span>
      <Filter {...properties} />
      <Columns {...properties} />
      <Copies {...properties} onDone={setMessage} />
    </div>
  );
}
