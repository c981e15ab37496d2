// The table of what is left of discarded letters: which event it was, who discarded it, when and why.
import { showInvisible } from '../../pages/components/format.js';
import { TableHead } from '../../pages/components/table.js';
import { ROLES } from '../../pages/components/table-roles.js';
import { Age } from './age.js';
import type { Letter } from './api.js';
import { Reason } from './reason.js';

const COLUMNS = [
  ['reason', 'Reason'],
  ['event', 'Event'],
  ['id', 'Event ID'],
  ['because', 'Why it was discarded'],
  ['by', 'By'],
  ['when', 'Discarded'],
] as const;

export function TombstoneTable({ letters }: { letters: readonly Letter[] }) {
  return (
    <table class="rows tombstones" {...ROLES.table}>
      <caption class="visually-hidden">Discarded dead letters, in the order of their arrival</caption>
      <TableHead columns={COLUMNS} />
      <tbody {...ROLES.group}>
        {letters.map((letter) => (
          <Tombstone key={letter.id} letter={letter} />
        ))}
      </tbody>
    </table>
  );
}

function Tombstone({ letter }: { letter: Letter }) {
  const { reason, eventName, eventId, sandbox, discarded } = letter;
  return (
    <tr {...ROLES.row}>
      <td class="cell-reason" {...ROLES.cell}>
        <Reason reason={reason} />
      </td>
      <th class="cell-event cluster" {...ROLES.rowHeader}>
        {showInvisible(eventName)}
        {sandbox && <span class="tag">sandbox</span>}
      </th>
      <td class="cell-id mono muted" {...ROLES.cell}>
        {showInvisible(eventId)}
      </td>
      <td class="cell-because" {...ROLES.cell}>
        {discarded && `“${showInvisible(discarded.because)}”`}
      </td>
      <td class="cell-by muted" {...ROLES.cell}>
        {discarded && showInvisible(discarded.by)}
      </td>
      <td class="cell-when muted" {...ROLES.cell}>
        {discarded && <Age at={discarded.at} />}
      </td>
    </tr>
  );
}
