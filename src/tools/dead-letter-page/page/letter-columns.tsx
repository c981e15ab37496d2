// The columns of the tables: of letters, and of what is left of discarded ones.
import { Age } from '../../pages/components/clock.js';
import { formatTime } from '../../pages/components/format.js';
import { type Column, EventName } from '../../pages/components/table.js';
import type { Letter } from './api.js';
import { Reason, reasonLabel } from './reason.js';

const SHARED: readonly Column<Letter>[] = [
  {
    name: 'reason',
    label: 'Reason',
    text: ({ reason }) => reasonLabel(reason),
    cell: ({ reason }) => <Reason reason={reason} />,
  },
  {
    name: 'event',
    label: 'Event',
    text: ({ eventName }) => eventName,
    cell: ({ eventName, sandbox }) => <EventName name={eventName} sandbox={sandbox} />,
  },
  { name: 'id', label: 'Event ID', text: ({ eventId }) => eventId },
];

export const LETTER_COLUMNS: readonly Column<Letter>[] = [
  ...SHARED,
  { name: 'code', label: 'Code', text: ({ code }) => code },
  { name: 'attempts', label: 'Attempts', text: ({ attempts }) => attempts.toLocaleString('en') },
  {
    name: 'when',
    label: 'First kept',
    text: ({ keptAt }) => formatTime(keptAt),
    cell: ({ keptAt }) => <Age at={keptAt} />,
  },
];

export const TOMBSTONE_COLUMNS: readonly Column<Letter>[] = [
  ...SHARED,
  {
    name: 'because',
    label: 'Why it was discarded',
    text: ({ discarded }) => discarded && `“${discarded.because}”`,
  },
  { name: 'by', label: 'By', text: ({ discarded }) => discarded?.by },
  {
    name: 'when',
    label: 'Discarded',
    text: ({ discarded }) => discarded && formatTime(discarded.at),
    cell: ({ discarded }) => discarded && <Age at={discarded.at} />,
  },
];
