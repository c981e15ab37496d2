// Makes the message of one attempt, whole or damaged by a fault.
import { type SigningKey, signingKey, signWith } from '../signature.js';
import type { HeaderPair } from './delivery.js';
import type { FaultKind } from './fault-kinds.js';

/** How the bytes go over the wire. */
export type Manner = 'whole' | 'slow' | 'truncated' | 'reset' | 'dropped';

/** What an attempt sends. */
export interface Message {
  readonly headers: HeaderPair[];
  readonly body: Buffer;
  readonly manner: Manner;
}

/** What a message is made of. */
export interface Materials {
  readonly host: string;
  readonly body: Buffer;
  readonly key: SigningKey;
  readonly signatureHeader: string;
}

const WRONG_KEY = signingKey('pri_sim_wrong_key');

const MANNERS: ReadonlyMap<FaultKind, Manner> = new Map([
  ['slow_body', 'slow'],
  ['truncate_body', 'truncated'],
  ['reset_connection', 'reset'],
  ['drop', 'dropped'],
]);

/** The signature is over the whole, undamaged bytes, unless the signature is what is damaged. */
export function messageOf(materials: Materials, fault: FaultKind | undefined): Message {
  const { host, body: original, key, signatureHeader } = materials;
  const declared =
    fault === 'tamper_body' ? tampered(original) : fault === 'reserialize_body' ? again(original) : original;
  const signature = signWith(original, fault === 'wrong_key' ? WRONG_KEY : key);
  const headers: HeaderPair[] = [
    ['Host', host],
    ['Content-Type', 'application/json'],
    ['Content-Length', String(declared.byteLength)],
  ];
  if (fault === 'uppercase_signature') headers.push([signatureHeader, signature.toUpperCase()]);
  else if (fault !== 'missing_signature') headers.push([signatureHeader, signature]);
  headers.push(['Connection', 'keep-alive']);
  const manner = (fault && MANNERS.get(fault)) ?? 'whole';
  const cut = manner === 'truncated' || manner === 'reset';
  return { headers, body: cut ? firstHalf(declared) : declared, manner };
}

/** Whether the endpoint had reason to believe that the account's key signed exactly these bytes. */
export function isAuthentic(fault: FaultKind | null): boolean {
  return !UNAUTHENTIC.has(fault ?? 'delay');
}

const UNAUTHENTIC: ReadonlySet<FaultKind> = new Set([
  'tamper_body',
  'reserialize_body',
  'wrong_key',
  'missing_signature',
  'uppercase_signature',
  'truncate_body',
  'reset_connection',
]);

/** Another digit somewhere behind `"payload"`: still JSON, as long as before, and not what was signed. */
function tampered(body: Buffer): Buffer {
  const changed = Buffer.from(body);
  const start = Math.max(0, changed.indexOf('"payload"'));
  const at = changed.findIndex((byte, index) => index > start && byte >= 0x30 && byte <= 0x39);
  if (at === -1) return Buffer.concat([body, Buffer.from(' ')]);
  // 9 becomes 8 and not 0, which may not lead a number.
  changed[at] = changed[at] === 0x39 ? 0x38 : (changed[at] ?? 0x30) + 1;
  return changed;
}

/** The same JSON in other bytes, as a proxy makes it that parses and prints bodies. */
function again(body: Buffer): Buffer {
  return Buffer.from(JSON.stringify(JSON.parse(body.toString('utf8')), null, 2));
}

/** Never cut within a character, so that the record shows as text exactly what was sent. */
function firstHalf(body: Buffer): Buffer {
  let end = Math.floor(body.byteLength / 2);
  while (end > 0 && ((body[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return body.subarray(0, end);
}
