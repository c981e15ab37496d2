// The columns of the tables of dead letters and of discarded ones.
import { Age } from '../../web/components/clock.js';
import { formatTime } from '../../web/components/format.js';
import { type Column, EventName } from '../../web/components/table.js';
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
  { name: 'id', label: 'Event ID', look: 'mono muted', text: ({ eventId }) => eventId },
];

export const LETTERS = {
  name: 'letters',
  caption: 'Dead letters, oldest first',
  columns: [
    ...SHARED,
    { name: 'cause', label: 'Cause', look: 'muted', text: ({ cause, code }) => cause ?? code },
    {
      name: 'attempts',
      label: 'Attempts',
      look: 'muted',
      text: ({ attempts }) => attempts.toLocaleString('en'),
    },
    {
      name: 'when',
      label: 'First kept',
      look: 'muted',
      text: ({ keptAt }) => formatTime(keptAt),
      cell: ({ keptAt }) => <Age at={keptAt} />,
    },
  ] satisfies readonly Column<Letter>[],
};

export const TOMBSTONES = {
  name: 'tombstones',
  caption: 'Discarded dead letters, in the order of their arrival',
  columns: [
    ...SHARED,
    {
      name: 'because',
      label: 'Why it was discarded',
      text: ({ discarded }) => discarded && `“${discarded.because}”`,
    },
    { name: 'by', label: 'By', look: 'muted', text: ({ discarded }) => discarded?.by },
    {
      name: 'when',
      label: 'Discarded',
      look: 'muted',
      text: ({ discarded }) => discarded && formatTime(discarded.at),
      cell: ({ discarded }) => discarded && <Age at={discarded.at} />,
    },
  ] satisfies readonly Column<Letter>[],
};
