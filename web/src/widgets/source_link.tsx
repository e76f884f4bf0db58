// SPDX-License-Identifier: Apache-2.0
// A source line by its short name: a button where it can be opened, else text. The title has the whole path.
import { canOpenSource, openSource, sourceText, type Source } from "../source";

export function SourceLink({ source }: { source: Source }) {
  const { file, line } = source,
    title = `${file}:${line}`;
  if (!canOpenSource())
    return (
      <code class="source" title={title}>
        {sourceText(source)}
      </code>
    );
  return (
    <button type="button" class="link source" title={title} onClick={() => openSource(file, line)}>
      {sourceText(source)}
    </button>
  );
}
