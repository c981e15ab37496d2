// Event patterns: a name, `resource.*`, or `*` for every event.
import { isEventName } from './envelope.js';

export function isEventPattern(text: unknown): text is string {
  if (typeof text !== 'string') return false;
  // A partial wildcard such as `a.b*` would match nothing.
  return text === '*' || (isEventName(text) && !text.replace(/\.\*$/, '.').includes('*'));
}

export function matchesEvent(pattern: string, name: string): boolean {
  if (pattern === '*' || pattern === name) return true;
  const prefix = prefixOf(pattern);
  return prefix !== undefined && name.startsWith(prefix);
}

/** What the names that match `resource.*` begin with; undefined for other patterns. */
export function prefixOf(pattern: string): string | undefined {
  return pattern.endsWith('.*') ? pattern.slice(0, -1) : undefined;
}
