// Texts: how many letters match, and the name of one.

import { matchesEvent } from '../../../events/event-pattern.js';
import { plural, showInvisible } from '../../web/components/format.js';
import type { Letter } from './api.js';
import { isFiltered } from './route.js';
import type { Loaded } from './use-letters.js';

/** `3 dead letters`, `1 matching dead letter`, `2 discarded dead letters`. */
export function countText({ filter, discarded, total }: Loaded): string {
  const words = [isFiltered(filter) && 'matching', discarded && 'discarded', 'dead letter'];
  return plural(total, words.filter(Boolean).join(' '));
}

export function nameOf({ eventName, eventId }: Letter): string {
  return showInvisible(`${eventName} ${eventId}`);
}

export function countOf({ summary, filter, total }: Loaded, reason: string | undefined): number {
  if (reason === filter.reason) return total;
  return summary.groups
    .filter((group) => reason === undefined || group.reason === reason)
    .filter(({ eventName }) => matchesEvent(filter.event ?? '*', eventName))
    .reduce((sum, { count }) => sum + count, 0);
}
