// SPDX-License-Identifier: Apache-2.0
// The page's icons, on a grid of 16, in the text colour.
const Icon = ({ d, isFilled = false }: { d: string; isFilled?: boolean }) => (
  <svg class={isFilled ? "icon filled" : "icon"} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path d={d} />
  </svg>
);
export const SearchIcon = () => <Icon d="M7 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 0 1 0-9zM10.4 10.4L14 14" />;
export const SunIcon = () => (
  <Icon d="M8 5.2a2.8 2.8 0 1 1 0 5.6a2.8 2.8 0 0 1 0-5.6zM8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8L13 13M3 13l1.2-1.2M11.8 4.2L13 3" />
);
export const MoonIcon = () => <Icon d="M13.2 9.8A5.8 5.8 0 0 1 6.2 2.8a5.8 5.8 0 1 0 7 7z" />;
export const CloseIcon = () => <Icon d="M4.5 4.5l7 7M11.5 4.5l-7 7" />;
export const CopyIcon = () => <Icon d="M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1" />;

// Spans within spans, in the colours of the levels.
export const Mark = () => (
  <svg class="mark-sign" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
    <rect class="level-fill-1" x="1" y="2" width="18" height="4" rx="1" />
    <rect class="level-fill-2" x="3" y="8" width="12" height="4" rx="1" />
    <rect class="level-fill-4" x="6" y="14" width="6" height="4" rx="1" />
  </svg>
);
