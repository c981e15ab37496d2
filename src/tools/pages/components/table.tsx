// A table whose rows are grids: its roles, and a head for screen readers alone.

/** Some browsers forget that it is a table. */
export const ROLES = {
  table: { role: 'table' },
  group: { role: 'rowgroup' },
  row: { role: 'row' },
  columnHeader: { role: 'columnheader', scope: 'col' },
  rowHeader: { role: 'rowheader', scope: 'row' },
  cell: { role: 'cell' },
} as const;

interface TableHeadProps {
  /** The name of each column in the stylesheet, and what it is called. */
  readonly columns: readonly (readonly [name: string, label: string])[];
}

export function TableHead({ columns }: TableHeadProps) {
  return (
    <thead class="visually-hidden" {...ROLES.group}>
      <tr {...ROLES.row}>
        {columns.map(([name, label]) => (
          <th key={name} class={`cell-${name}`} {...ROLES.columnHeader}>
            {label}
          </th>
        ))}
      </tr>
    </thead>
  );
}
