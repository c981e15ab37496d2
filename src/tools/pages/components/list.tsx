// A list: the filter bar above it, and its table.
import type { ComponentChildren } from 'preact';
import { Button } from './button.js';

/** Some browsers forget that it is a table. */
export const ROLES = {
  table: { role: 'table' },
  group: { role: 'rowgroup' },
  row: { role: 'row' },
  columnHeader: { role: 'columnheader', scope: 'col' },
  rowHeader: { role: 'rowheader', scope: 'row' },
  cell: { role: 'cell' },
} as const;

interface TableProps {
  /** Its class in the stylesheet. */
  readonly name: string;
  readonly caption: string;
  /** The name of each column in the stylesheet, and what it is called. */
  readonly columns: readonly (readonly [name: string, label: string])[];
  readonly children: ComponentChildren;
}

/** A table whose rows are grids. Its head is for screen readers alone. */
export function Table({ name, caption, columns, children }: TableProps) {
  return (
    <table class={`rows ${name}`} {...ROLES.table}>
      <caption class="visually-hidden">{caption}</caption>
      <thead class="visually-hidden" {...ROLES.group}>
        <tr {...ROLES.row}>
          {columns.map(([column, label]) => (
            <th key={column} class={`cell-${column}`} {...ROLES.columnHeader}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody {...ROLES.group}>{children}</tbody>
    </table>
  );
}

interface Choice {
  readonly label: string;
  readonly icon?: ComponentChildren;
  readonly count: number;
  readonly pressed: boolean;
  readonly choose: () => void;
}

interface FilterBarProps {
  readonly legend: string;
  readonly choices: readonly Choice[];
  readonly children?: ComponentChildren;
}

/** How many rows each choice has; each is also a filter. */
export function FilterBar({ legend, choices, children }: FilterBarProps) {
  return (
    <fieldset class="filter cluster">
      <legend class="visually-hidden">{legend}</legend>
      {choices.map(({ label, icon, count, pressed, choose }) => (
        <Button key={label} look="small quiet" aria-pressed={pressed} act={choose}>
          {icon}
          {label} <b>{count.toLocaleString('en')}</b>
        </Button>
      ))}
      {children}
    </fieldset>
  );
}
