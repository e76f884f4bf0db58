// SPDX-License-Identifier: Apache-2.0
// A part of the page's data, null until it is unpacked.
import { useEffect, useState } from "preact/hooks";

export function useLoaded<T>(load: () => Promise<T>, key: unknown[]): T | null {
  const [loaded, setLoaded] = useState<T | null>(null);
  useEffect(() => {
    let isWanted = true;
    setLoaded(null);
    load().then(
      (value) => isWanted && setLoaded(value),
      () => {}, // a report that was cut short: the rest of the details stays
    );
    return () => {
      isWanted = false;
    };
  }, key);
  return loaded;
}
