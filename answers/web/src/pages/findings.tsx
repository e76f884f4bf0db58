// SPDX-License-Identifier: Apache-2.0
// What is probably wrong, on top of the overview: the rows of `xsp analyze findings`, those with the largest gain first.
import { findingsAnswer, isPlaced, openFinding, openFindingInTime, titleOf } from "../findings";
import { cell, digits, plural } from "../format";
import { details, setDetail, shortKernel } from "../state";
import { number, text, type Row } from "../widgets/answers";
import { SourceLink } from "../widgets/source_link";
import { AnswerFoot } from "../widgets/table";
import { Panel } from "./shown";
import "./findings.css";

const SHOWN_FIRST = 3;
const SEVERITIES = ["high", "medium", "low"];

function Place({ row }: { row: Row }) {
  const context = text(row.context),
    file = text(row.file),
    line = number(row.line);
  return (
    <>
      {isPlaced(row) && (
        <button
          type="button"
          class="link finding-place"
          title={`${context}: on the flame page`}
          onClick={() => openFinding(row)}
        >
          {shortKernel(context) || "its context"}
        </button>
      )}
      {isPlaced(row) && (
        <button type="button" class="link finding-place" onClick={() => openFindingInTime(row)}>
          on the timeline
        </button>
      )}
      {file !== "" && line !== null && <SourceLink source={{ file, line }} />}
    </>
  );
}

// "At most 1.2 ms, 3.4 %: why".
function Saving({ row }: { row: Row }) {
  const saving = number(row.saving_ms),
    share = number(row.saving_pct),
    basis = text(row.saving_basis);
  if (saving === null && share === null) return null;
  const amounts = [saving === null ? "" : cell("saving_ms", saving), share === null ? "" : `${digits(share, 3)} %`];
  return (
    <p>
      <strong>At most {amounts.filter((amount) => amount !== "").join(", ")} to gain</strong>
      {basis !== "" && `: ${basis}`}
    </p>
  );
}

function Finding({ row }: { row: Row }) {
  const severity = text(row.severity),
    advice = text(row.advice);
  const facts = [
    [text(row.id), text(row.rule).replaceAll("_", " ")].filter((part) => part !== "").join(" "),
    row.confidence == null ? "" : `confidence ${text(row.confidence)}`,
    row.time_ms == null
      ? ""
      : `takes ${cell("time_ms", row.time_ms)} ${row.basis === "all" ? "in all" : "per observation"}`,
    row.threshold == null ? "" : `threshold ${text(row.threshold)}`,
  ];
  return (
    <li class="finding" data-finding={text(row.id)}>
      <p class="finding-head">
        <span class={`severity ${SEVERITIES.includes(severity) ? `is-${severity}` : ""}`}>{severity || "finding"}</span>
        <strong>{titleOf(row)}</strong>
      </p>
      <p class="finding-where">
        <Place row={row} />
      </p>
      <Saving row={row} />
      {advice !== "" && <p>Try: {advice}</p>}
      <p class="quiet finding-facts">{facts.filter((fact) => fact !== "").join(" · ")}</p>
    </li>
  );
}

export function Findings() {
  const answer = findingsAnswer();
  if (answer === undefined) return null;
  const { rows } = answer.table,
    areAll = details.value["findings"] === "all",
    shown = areAll ? rows : rows.slice(0, SHOWN_FIRST);
  if (rows.length === 0) return <p class="quiet no-findings">No findings at these thresholds.</p>;
  return (
    <Panel title="Findings" aside={plural(rows.length, "finding")}>
      <ol class="findings">
        {shown.map((row, i) => (
          <Finding key={i} row={row} />
        ))}
      </ol>
      {rows.length > SHOWN_FIRST && (
        <p>
          <button type="button" onClick={() => setDetail("findings", areAll ? "" : "all")}>
            {areAll ? `The first ${SHOWN_FIRST} only` : `${rows.length - SHOWN_FIRST} more`}
          </button>
        </p>
      )}
      <AnswerFoot answer={answer} />
    </Panel>
  );
}
