// The reason of a dead letter: a shape and a word; the colour only repeats them.

import type { DeadLetterReason } from '../../../claims/dead-letter-store.js';
import { Icon, type IconName } from '../../pages/components/icon.js';

interface Look {
  readonly label: string;
  readonly icon: IconName | 'own';
  readonly path?: string;
  readonly tone: string;
}

const UNKNOWN =
  'M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM3 8a5 5 0 1 1 10 0A5 5 0 0 1 3 8Zm5-3.6c-1.3 0-2.2.8-2.2 1.9a.7.7 0 0 0 1.4 0c0-.3.3-.6.8-.6s.8.3.8.7c0 .4-.2.6-.7 1-.5.3-.8.8-.8 1.4a.7.7 0 0 0 1.4 0c0-.1.1-.2.3-.4.7-.4 1.2-1.1 1.2-2 0-1.2-.9-2-2.2-2ZM8 10.3a.85.85 0 1 0 0 1.7.85.85 0 0 0 0-1.7Z';
const CONFLICT =
  'M10.5 2.2a.75.75 0 0 1 1.06 0l2.5 2.5a.75.75 0 0 1 0 1.06l-2.5 2.5a.75.75 0 1 1-1.06-1.06L11.7 6H3a.75.75 0 0 1 0-1.5h8.7l-1.2-1.24a.75.75 0 0 1 0-1.06ZM5.5 7.7a.75.75 0 0 1 0 1.06L4.3 10H13a.75.75 0 0 1 0 1.5H4.3l1.2 1.24a.75.75 0 1 1-1.06 1.06l-2.5-2.5a.75.75 0 0 1 0-1.06l2.5-2.5a.75.75 0 0 1 1.06 0Z';

const LOOKS: ReadonlyMap<string, Look> = new Map(
  Object.entries({
    failed: { label: 'Failed', icon: 'failed', tone: 'failed' },
    unknown: { label: 'Unknown', icon: 'own', path: UNKNOWN, tone: 'pending' },
    invalid: { label: 'Invalid', icon: 'fault', tone: 'fault' },
    conflict: { label: 'Conflict', icon: 'own', path: CONFLICT, tone: 'fault' },
    rejected: { label: 'Rejected', icon: 'cancelled', tone: 'failed' },
    unfinished: { label: 'Unfinished', icon: 'pending', tone: 'pending' },
  } satisfies Record<DeadLetterReason, Look>),
);

export function reasonLabel(reason: string): string {
  return LOOKS.get(reason)?.label ?? reason;
}

export function ReasonIcon({ reason }: { reason: string }) {
  const { icon, path, tone }: Omit<Look, 'label'> = LOOKS.get(reason) ?? {
    icon: 'own',
    path: UNKNOWN,
    tone: 'pending',
  };
  return (
    <span class={`tone-${tone}`}>
      <Icon name={icon} path={path} />
    </span>
  );
}

export function Reason({ reason }: { reason: string }) {
  return (
    <span class="status cluster">
      <ReasonIcon reason={reason} />
      {reasonLabel(reason)}
    </span>
  );
}
