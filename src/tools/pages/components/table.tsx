// The head of a table whose rows are laid out by the stylesheet: for screen readers alone.
import { ROLES } from './table-roles.js';

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
