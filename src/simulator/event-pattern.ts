// Which events a webhook or a fault is about: a name, `resource.*`, or `*` for all.
import { isEventName } from '../events/envelope.js';

/** Whether the text is an event name or a pattern of names. */
export function isEventPattern(text: unknown): text is string {
  if (typeof text !== 'string') return false;
  if (text === '*') return true;
  // A star that is not the whole action would match nothing and be taken for a wild card.
  return isEventName(text) && !text.replace(/\.\*$/, '.').includes('*');
}

export function matchesEvent(pattern: string, name: string): boolean {
  if (pattern === '*' || pattern === name) return true;
  return pattern.endsWith('.*') && name.startsWith(pattern.slice(0, -1));
}
