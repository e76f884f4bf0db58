// SPDX-License-Identifier: Apache-2.0
// Findings of `xsp analyze findings --json` as marks. Pure.

export interface Finding {
  id: string;
  severity: string;
  title: string;
  file: string | null;
  line: number | null;
  saving_pct: number | null;
  saving_basis: string | null;
  advice: string | null;
}

// One object per experiment. Rows of other forms are left out: a later xsp may have more.
export function findingsIn(tables: unknown): Finding[] {
  const rows = (Array.isArray(tables) ? tables : [tables]).flatMap((table) =>
    Array.isArray(table?.rows) ? (table.rows as Record<string, unknown>[]) : [],
  );
  const text = (value: unknown) => (typeof value === "string" ? value : null),
    number = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : null);
  return rows.flatMap((row): Finding[] => {
    const title = text(row.title);
    if (title === null) return [];
    return [
      {
        id: text(row.id) ?? "",
        severity: text(row.severity) ?? "",
        title,
        file: text(row.file),
        line: number(row.line),
        saving_pct: number(row.saving_pct),
        saving_basis: text(row.saving_basis),
        advice: text(row.advice),
      },
    ];
  });
}

export function messageOf({ title, saving_pct, saving_basis, advice }: Finding): string {
  const lines = [title];
  if (saving_pct !== null)
    lines.push(`at most ${saving_pct.toFixed(1)} % to gain${saving_basis === null ? "" : `: ${saving_basis}`}`);
  if (advice !== null) lines.push(`try: ${advice}`);
  return lines.join("\n");
}
