// Random tokens. The one that a store has for a key says which claim owns it.
import { randomUUID } from 'node:crypto';

/** Identifies one claim: every claim of a key has another token. */
export interface Owner {
  readonly key: string;
  readonly token: string;
}

/** A random UUID without its hyphens: 32 digits, of which 122 bits are random. */
export function newToken(): string {
  return randomUUID().replaceAll('-', '');
}
