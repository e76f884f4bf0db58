// SPDX-License-Identifier: Apache-2.0
// A source line by its short name: a button in an editor, a link where the reader wants links, a button to the page of lines where
// that has the file, else text. The title has the whole path. `isHere`: it is that page.
import { hasCode, openCode } from "../code";
import { host } from "../editor";
import { areLinksOn, openSource, sourceLink, sourceText, type Source } from "../source";

export function SourceLink({ source, isHere = false }: { source: Source; isHere?: boolean }) {
  const { file, line } = source,
    title = `${file}:${line}`,
    link = areLinksOn.value ? sourceLink(source) : null,
    stop = (event: Event) => event.stopPropagation(); // in a table, the row opens something else
  if (host !== undefined)
    return (
      <button
        type="button"
        class="link source"
        title={title}
        onClick={(event) => {
          stop(event);
          openSource(file, line);
        }}
      >
        {sourceText(source)}
      </button>
    );
  if (link === null && !isHere && hasCode(file))
    return (
      <button
        type="button"
        class="link source"
        title={`${title}: on the page of lines`}
        onClick={(event) => {
          stop(event);
          openCode(source);
        }}
      >
        {sourceText(source)}
      </button>
    );
  return link === null ? (
    <code class="source" title={title}>
      {sourceText(source)}
    </code>
  ) : (
    <a class="source" title={title} href={link} onClick={stop} onKeyDown={stop}>
      {sourceText(source)}
    </a>
  );
}
