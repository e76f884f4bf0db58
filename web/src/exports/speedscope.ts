// SPDX-License-Identifier: Apache-2.0
// speedscope's file format (https://www.speedscope.app/file-format-schema.json): a profile of begin and end events per
// lane, with one table of names, as `xsp export --to speedscope` writes it.
import { endOf, laneName, lanesOf, Pieces, walk, type Source } from "./source";

export function speedscope(source: Source): string[] {
  const { data, names, title } = source,
    out = new Pieces(),
    frames: string[] = [],
    frameOf = new Map<number, number>();
  const frame = (span: number) => {
    const name = data.name[span];
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
    walk(source, places, (kind, span, at) => {
      out.add(`${isFirst ? "" : ","}{"type":"${kind === "open" ? "O" : "C"}","frame":${frame(span)},"at":${at}}`);
      isFirst = false;
    });
    out.add("]}");
  });
  out.add(`],\n"shared":{"frames":[${frames.join(",")}]}}\n`);
  return out.end();
}
