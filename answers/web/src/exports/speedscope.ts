// SPDX-License-Identifier: Apache-2.0
// speedscope's file format (https://www.speedscope.app/file-format-schema.json): a profile of begin and end events per
// lane, with one table of names, as `xsp export --to speedscope` writes it: a span with a call path is in the frames of it
// that the spans around it are not in.
import { documentData } from "../state";
import { endOf, laneName, lanesOf, Pieces, walk, type Source } from "./source";

export function speedscope(source: Source): string[] {
  const { data, names, title } = source,
    out = new Pieces(),
    frames: string[] = [],
    frameOf = new Map<number, number>();
  const paths = documentData.value?.files[data.facts.file].call_paths,
    pathOf = (span: number) => (paths === undefined ? 0 : (data.context[span] ?? 0));
  // Names of the callers of a span, outermost first, from below the path of the span around it on.
  const callers = (path: number, known: number): number[] => {
    const chain: number[] = [];
    let at = path === 0 ? 0 : paths!.caller[path - 1];
    for (; at !== 0 && at !== known; at = paths!.caller[at - 1]) chain.push(paths!.name[at - 1]);
    return at === known ? chain.reverse() : []; // the spans around this one have other callers: drawn as it ran
  };
  const frame = (name: number) => {
    let at = frameOf.get(name);
    if (at === undefined) {
      frameOf.set(name, (at = frames.length));
      frames.push(JSON.stringify({ name: names[name] }));
    }
    return at;
  };
  out.add(
    `{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"xsp","name":${JSON.stringify(title)},` +
      `"activeProfileIndex":0,"profiles":[\n`,
  );
  lanesOf(source).forEach(({ lane, places }, n) => {
    const name = `${data.facts.lanes[lane].process}, ${laneName(data, lane)}`;
    const end = places.reduce((most, i) => Math.max(most, endOf(data, i)), 0);
    out.add(
      `${n > 0 ? ",\n" : ""}{"type":"evented","name":${JSON.stringify(name)},"unit":"nanoseconds",` +
        `"startValue":${data.start[places[0]]},"endValue":${end},"events":[`,
    );
    let isFirst = true;
    const put = (type: "O" | "C", name: number, at: number) => {
      out.add(`${isFirst ? "" : ","}{"type":"${type}","frame":${frame(name)},"at":${at}}`);
      isFirst = false;
    };
    const open: { path: number; names: number[] }[] = [];
    walk(source, places, (kind, span, at) => {
      if (kind === "close") {
        for (const name of open.pop()!.names.reverse()) put("C", name, at);
        return;
      }
      const known = open[open.length - 1]?.path ?? 0,
        path = pathOf(span),
        own = [...callers(path, known), path === 0 ? data.name[span] : paths!.name[path - 1]];
      open.push({ path: path === 0 ? known : path, names: own });
      for (const name of own) put("O", name, at);
    });
    out.add("]}");
  });
  out.add(`],\n"shared":{"frames":[${frames.join(",")}]}}\n`);
  return out.end();
}
