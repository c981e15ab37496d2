// Random tokens. The one in the store says who owns the claim.
import { randomUUID } from 'node:crypto';

/** Who owns a claim: the token differs from that of every other claim. */
export interface Owner {
  readonly key: string;
  readonly token: string;
}

/** A random UUID without its hyphens: 32 digits, of which 122 bits are random. */
export function newToken(): string {
  return randomUUID().replaceAll('-', '');
}
