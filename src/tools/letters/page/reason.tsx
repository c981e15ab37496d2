// The reason of a dead letter: an icon and a word, so that it never depends on colour alone.
import type { DeadLetterReason } from '../../../contracts/dead-letter-store.js';
import { Icon, type IconName } from '../../web/components/icon.js';

interface Look {
  readonly label: string;
  readonly icon: IconName;
  readonly tone: string;
}

const LOOKS: ReadonlyMap<string, Look> = new Map(
  Object.entries({
    failed: { label: 'Failed', icon: 'failed', tone: 'failed' },
    unknown: { label: 'Unknown', icon: 'unknown', tone: 'pending' },
    invalid: { label: 'Invalid', icon: 'fault', tone: 'fault' },
    conflict: { label: 'Conflict', icon: 'conflict', tone: 'fault' },
    rejected: { label: 'Rejected', icon: 'cancelled', tone: 'failed' },
    unfinished: { label: 'Unfinished', icon: 'pending', tone: 'pending' },
  } satisfies Record<DeadLetterReason, Look>),
);

/** In display order. */
export const REASONS = [...LOOKS.keys()];

export function reasonLabel(reason: string): string {
  return LOOKS.get(reason)?.label ?? reason;
}

export function ReasonIcon({ reason }: { reason: string }) {
  const { icon = 'unknown', tone = 'pending' } = LOOKS.get(reason) ?? {};
  return <Icon name={icon} tone={tone} />;
}

export function Reason({ reason }: { reason: string }) {
  return (
    <span class="status cluster">
      <ReasonIcon reason={reason} />
      {reasonLabel(reason)}
    </span>
  );
}
