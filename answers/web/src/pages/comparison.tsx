// SPDX-License-Identifier: Apache-2.0
// What `xsp compare A B -o OUT.html` found: the verdict, what differs between the systems, the rows of both sides, those of one side only.
import { batch as together } from "@preact/signals";
import { defaultRun, documentData, flameMode, chooseRun, page, setDetail } from "../state";
import { LinkedTable } from "../widgets/answers";
import { Notes } from "../widgets/table";
import { NoData } from "./no_data";

// The flame graph of b in the widths of b, colored by the difference from a.
function FlameLink({ firstOfA }: { firstOfA: number }) {
  const runs = documentData.value!.runs,
    b = defaultRun(runs.filter(({ file }) => file < firstOfA)),
    a = defaultRun(runs.filter(({ file }) => file >= firstOfA));
  if (a === undefined || b === undefined || a.detail === "none" || b.detail === "none") return null;
  return (
    <p>
      <button
        type="button"
        class="link"
        onClick={() =>
          together(() => {
            chooseRun(b.run);
            setDetail("flame.with", String(a.run));
            if (flameMode.value === "time") flameMode.value = "top-down";
            page.value = "flame";
          })
        }
      >
        Where b takes longer than a, as a flame graph
      </button>
    </p>
  );
}

export function Comparison() {
  const comparison = documentData.value!.comparison;
  if (comparison === undefined) return <NoData />;
  const { verdict, sentence, first_of_a: firstOfA, answers } = comparison,
    names = documentData.value!.files.map(({ name }) => name);
  return (
    <>
      {firstOfA < names.length && ( // else both sides are of one file
        <dl class="facts">
          {[
            ["a", names.slice(firstOfA)],
            ["b", names.slice(0, firstOfA)],
          ].map(([side, of]) => (
            <div key={String(side)}>
              <dt>{side}</dt>
              <dd>{[...of].join(", ")}</dd>
            </div>
          ))}
        </dl>
      )}
      <p class={verdict === "slower" ? "note warn" : "note"} data-verdict={verdict}>
        {sentence}
      </p>
      <FlameLink firstOfA={firstOfA} />
      {answers.map((answer) => (
        <LinkedTable
          key={`${answer.table.analysis} ${answer.by}`}
          answer={answer}
          caption={answer.table.title ?? answer.table.analysis}
          foot={answer.table.notes.length === 0 ? null : <Notes notes={answer.table.notes} />}
        />
      ))}
    </>
  );
}
