// SPDX-License-Identifier: Apache-2.0
// Analyses of kernels: A8 each call, A10 by name.
import { answer, SelectionNote } from "../widgets/parts";
import { find, Missing } from "../widgets/answers";
import { AnswerTable, Summary } from "../widgets/table";

export function Kernels() {
  const a8 = answer("A8"),
    a10 = answer("A10");
  if (a8 === undefined && a10 === undefined)
    return (
      <Missing what="kernels" how="xsp import of a trace that has them, or xsp run on a machine with OpenCL or a GPU" />
    );
  return (
    <>
      <SelectionNote />
      {a10 !== undefined && <Summary answer={a10} />}
      {a10 !== undefined && <AnswerTable answer={a10} onRow={(row) => find(row.kernel_name)} />}
      {a8 !== undefined && <AnswerTable answer={a8} onRow={(row) => find(row.kernel_name)} />}
    </>
  );
}
