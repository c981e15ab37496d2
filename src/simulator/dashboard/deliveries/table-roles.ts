// Says again what each part of the table is.

// The rows are laid out as grids, so that the browser can skip those that are out of sight; some browsers then no
// longer take it for a table by themselves.
export const ROLES = {
  table: { role: 'table' },
  group: { role: 'rowgroup' },
  row: { role: 'row' },
  columnHeader: { role: 'columnheader', scope: 'col' },
  rowHeader: { role: 'rowheader', scope: 'row' },
  cell: { role: 'cell' },
} as const;
