// SPDX-License-Identifier: Apache-2.0
// Tables of one page as tabs; the open one is in the URL.
import { useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { details, setDetail } from "../state";

export interface Tab {
  id: string;
  name: string;
  show: () => ComponentChildren;
}
export function Tabs({ id, label, tabs }: { id: string; label: string; tabs: Tab[] }) {
  const list = useRef<HTMLDivElement>(null);
  if (tabs.length === 0) return null;
  const key = `${id}.tab`,
    at = Math.max(
      0,
      tabs.findIndex((tab) => tab.id === details.value[key]),
    );
  const go = (to: number) => {
    const next = (to + tabs.length) % tabs.length;
    setDetail(key, next === 0 ? "" : tabs[next].id);
    (list.current!.children[next] as HTMLElement).focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} ref={list}>
        {tabs.map((tab, i) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`tab-${id}-${tab.id}`}
            aria-selected={i === at}
            aria-controls={`panel-${id}`}
            tabIndex={i === at ? 0 : -1}
            onClick={() => setDetail(key, i === 0 ? "" : tab.id)}
            onKeyDown={(event) => {
              if (event.key === "ArrowRight") go(at + 1);
              else if (event.key === "ArrowLeft") go(at - 1);
            }}
          >
            {tab.name}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`panel-${id}`} aria-labelledby={`tab-${id}-${tabs[at].id}`} key={tabs[at].id}>
        {tabs[at].show()}
      </div>
    </>
  );
}
