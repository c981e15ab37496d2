// The columns of the tables: of letters, and of what is left of discarded ones.
import { Age } from '../../pages/components/clock.js';
import { showInvisible } from '../../pages/components/format.js';
import type { Column } from '../../pages/components/table.js';
import type { Letter } from './api.js';
import { Reason } from './reason.js';

const REASON: Column<Letter> = {
  name: 'reason',
  label: 'Reason',
  cell: ({ reason }) => <Reason reason={reason} />,
};
const EVENT: Column<Letter> = {
  name: 'event',
  label: 'Event',
  cell: ({ eventName, sandbox }) => (
    <>
      <span>{showInvisible(eventName)}</span>
      {sandbox && <span class="tag">sandbox</span>}
    </>
  ),
  title: ({ eventName }) => showInvisible(eventName),
};
const ID: Column<Letter> = {
  name: 'id',
  label: 'Event ID',
  cell: ({ eventId }) => showInvisible(eventId),
  title: ({ eventId }) => showInvisible(eventId),
};

export const LETTER_COLUMNS: readonly Column<Letter>[] = [
  REASON,
  EVENT,
  ID,
  { name: 'code', label: 'Code', cell: ({ code }) => code, title: ({ code }) => code ?? '' },
  { name: 'attempts', label: 'Attempts', cell: ({ attempts }) => attempts.toLocaleString('en') },
  { name: 'when', label: 'First kept', cell: ({ keptAt }) => <Age at={keptAt} /> },
];

export const TOMBSTONE_COLUMNS: readonly Column<Letter>[] = [
  REASON,
  EVENT,
  ID,
  {
    name: 'because',
    label: 'Why it was discarded',
    cell: ({ discarded }) => discarded && `“${showInvisible(discarded.because)}”`,
    title: ({ discarded }) => showInvisible(discarded?.because ?? ''),
  },
  {
    name: 'by',
    label: 'By',
    cell: ({ discarded }) => discarded && showInvisible(discarded.by),
    title: ({ discarded }) => showInvisible(discarded?.by ?? ''),
  },
  { name: 'when', label: 'Discarded', cell: ({ discarded }) => discarded && <Age at={discarded.at} /> },
];
