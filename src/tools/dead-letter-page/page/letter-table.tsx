// The tables: the letters, and what is left of discarded ones, each in the order of arrival.
import { memo } from 'preact/compat';
import { showInvisible } from '../../pages/components/format.js';
import { ROLES, Table } from '../../pages/components/list.js';
import { Age } from './age.js';
import type { Letter } from './api.js';
import { plural } from './count-text.js';
import { Reason } from './reason.js';

interface LetterTableProps {
  readonly letters: readonly Letter[];
  readonly selected: string | undefined;
  readonly open: (id: string) => void;
}

const COLUMNS = [
  ['reason', 'Reason'],
  ['event', 'Event'],
  ['id', 'Event ID'],
  ['code', 'Code'],
  ['attempts', 'Attempts'],
  ['when', 'First kept'],
] as const;

export const LetterTable = memo(({ letters, selected, open }: LetterTableProps) => (
  <Table name="letters" caption="Dead letters, oldest first" columns={COLUMNS}>
    {letters.map((letter) => (
      <LetterRow key={letter.id} letter={letter} selected={letter.id === selected} open={open} />
    ))}
  </Table>
));

interface LetterRowProps {
  readonly letter: Letter;
  readonly selected: boolean;
  readonly open: (id: string) => void;
}

function LetterRow({ letter, selected, open }: LetterRowProps) {
  const { id, reason, eventName, eventId, sandbox, code, attempts, keptAt } = letter;
  return (
    <tr class={selected ? 'row selected' : 'row'} aria-current={selected} {...ROLES.row}>
      <td class="cell-reason" {...ROLES.cell}>
        <Reason reason={reason} />
      </td>
      <th class="cell-event cluster" {...ROLES.rowHeader}>
        {/* The stylesheet extends this button over the whole row. */}
        <button type="button" class="row-button" data-row={id} onClick={() => open(id)}>
          {showInvisible(eventName)}
        </button>
        {sandbox && <span class="tag">sandbox</span>}
      </th>
      <td class="cell-id mono muted" {...ROLES.cell}>
        {showInvisible(eventId)}
      </td>
      <td class="cell-code mono muted" {...ROLES.cell}>
        {code}
      </td>
      <td class="cell-attempts muted" {...ROLES.cell}>
        {plural(attempts, 'attempt')}
      </td>
      <td class="cell-when muted" {...ROLES.cell}>
        <Age at={keptAt} />
      </td>
    </tr>
  );
}

const TOMBSTONE_COLUMNS = [
  ['reason', 'Reason'],
  ['event', 'Event'],
  ['id', 'Event ID'],
  ['because', 'Why it was discarded'],
  ['by', 'By'],
  ['when', 'Discarded'],
] as const;

export function TombstoneTable({ letters }: { letters: readonly Letter[] }) {
  return (
    <Table
      name="tombstones"
      caption="Discarded dead letters, in the order of their arrival"
      columns={TOMBSTONE_COLUMNS}
    >
      {letters.map((letter) => (
        <Tombstone key={letter.id} letter={letter} />
      ))}
    </Table>
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
