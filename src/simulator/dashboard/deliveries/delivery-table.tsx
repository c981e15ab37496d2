// The list of deliveries, newest first.
import type { Row } from '../live/wire.js';
import { pure } from '../parts/pure.js';
import { DeliveryRow } from './delivery-row.js';

interface DeliveryTableProps {
  readonly rows: readonly Row[];
  readonly selected: string | undefined;
  readonly open: (id: string) => void;
}

export const DeliveryTable = pure(({ rows, selected, open }: DeliveryTableProps) => (
  <table class="deliveries">
    <caption class="visually-hidden">Deliveries, newest first</caption>
    <thead>
      <tr>
        <th scope="col" class="cell-status">
          Status
        </th>
        <th scope="col" class="cell-event">
          Event
        </th>
        <th scope="col" class="cell-target">
          Delivery → webhook
        </th>
        <th scope="col" class="cell-code">
          Code
        </th>
        <th scope="col" class="cell-ms number">
          Time
        </th>
        <th scope="col" class="cell-attempts number">
          Attempts
        </th>
        <th scope="col" class="cell-when">
          Created, or next retry
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <DeliveryRow key={row.id} row={row} selected={row.id === selected} open={open} />
      ))}
    </tbody>
  </table>
));
