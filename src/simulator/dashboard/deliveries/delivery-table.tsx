// The list of deliveries, newest first.
import type { Row } from '../live/wire.js';
import { pure } from '../parts/pure.js';
import { DeliveryRow } from './delivery-row.js';
import { ROLES } from './table-roles.js';
import { useGradually } from './use-gradually.js';

interface DeliveryTableProps {
  readonly rows: readonly Row[];
  readonly selected: string | undefined;
  readonly open: (id: string) => void;
}

const COLUMNS = [
  ['status', 'Status'],
  ['event', 'Event'],
  ['target', 'Delivery → webhook'],
  ['code', 'Code'],
  ['ms', 'Time'],
  ['attempts', 'Attempts'],
  ['when', 'Created, or next retry'],
] as const;

export const DeliveryTable = pure(({ rows, selected, open }: DeliveryTableProps) => (
  <table class="deliveries" {...ROLES.table}>
    <caption class="visually-hidden">Deliveries, newest first</caption>
    <thead {...ROLES.group}>
      <tr class="columns-row" {...ROLES.row}>
        {COLUMNS.map(([name, words]) => (
          <th key={name} class={`cell-${name}`} {...ROLES.columnHeader}>
            {words}
          </th>
        ))}
      </tr>
    </thead>
    <tbody {...ROLES.group}>
      {useGradually(rows).map((row) => (
        <DeliveryRow key={row.id} row={row} selected={row.id === selected} open={open} />
      ))}
    </tbody>
  </table>
));
