// Builds the HTTP request of one attempt, intact or changed by a fault.
import { type SigningKey, signingKey, signWith } from '../../../signature.js';
import type { SimulatorSettings } from '../settings.js';
import type { FaultKind } from './faults.js';
import {
  type HeaderPair,
  nextNumber,
  type SimulatedDelivery,
  type SimulatedEvent,
} from './simulated-delivery.js';

const WRONG_KEY = signingKey('pri_sim_wrong_key');

/** The signature covers the original bytes, unless the fault changes the signature itself. */
export function buildRequest(
  delivery: SimulatedDelivery,
  fault: FaultKind | null,
  { key, signatureHeader, debugHeaders }: SimulatorSettings & { readonly key: SigningKey },
) {
  const { id, url, event } = delivery;
  const header = event.signatureHeader ?? signatureHeader;
  const body = changedBody(event.body, fault);
  const signature = signWith(event.body, fault === 'wrong_key' ? WRONG_KEY : key);
  const headers: HeaderPair[] = [
    ['Host', new URL(url).host],
    ['Content-Type', 'application/json'],
    ['Content-Length', String(body.byteLength)],
  ];
  if (fault === 'uppercase_signature') headers.push([header, signature.toUpperCase()]);
  else if (fault !== 'missing_signature') headers.push([header, signature]);
  headers.push(['Connection', 'keep-alive']);
  if (debugHeaders) {
    headers.push(['X-SIM-DELIVERY', id], ['X-SIM-ATTEMPT', String(nextNumber(delivery))]);
    if (fault) headers.push(['X-SIM-FAULT', fault]);
  }
  const isCut = fault === 'truncate_body' || fault === 'reset_connection';
  return { url, headers, body: isCut ? firstHalf(body) : body };
}

/** Headers of one connection (RFC 9110, 7.6.1), and the length, which a chunked body has not declared. */
export const HOP_BY_HOP =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|content-length)$/i;

/** The headers of a captured delivery for the app: all, but for those that every connection has of its own. */
export function passedOnHeaders({ headers = [], body }: SimulatedEvent, url: string): HeaderPair[] {
  const others = headers.filter(([name]) => !/^host$/i.test(name) && !HOP_BY_HOP.test(name));
  return [['Host', new URL(url).host], ...others, ['Content-Length', String(body.byteLength)]];
}

const AUTHENTIC: readonly (FaultKind | null)[] = [null, 'duplicate', 'reorder', 'delay', 'slow_body', 'drop'];

/** Whether a correct endpoint accepts the signature of an attempt with this fault. */
export function isAuthentic(fault: FaultKind | null): boolean {
  return AUTHENTIC.includes(fault);
}

function changedBody(body: Buffer, fault: FaultKind | null): Buffer {
  if (fault === 'tamper_body') return tampered(body);
  if (fault !== 'reserialize_body') return body;
  return Buffer.from(JSON.stringify(JSON.parse(body.toString('utf8')), null, 2));
}

/** Changes one digit after `"payload"`: the result is JSON of the same length. */
function tampered(body: Buffer): Buffer {
  const changed = Buffer.from(body);
  const start = Math.max(0, changed.indexOf('"payload"'));
  const at = changed.findIndex((byte, index) => index > start && byte >= 0x30 && byte <= 0x39);
  if (at === -1) return Buffer.concat([body, Buffer.from(' ')]);
  // 9 becomes 8: a number in JSON cannot start with 0.
  changed[at] = changed[at] === 0x39 ? 0x38 : (changed[at] ?? 0x30) + 1;
  return changed;
}

/** Never splits a UTF-8 character, so that the record shows exactly what was sent. */
function firstHalf(body: Buffer): Buffer {
  let end = Math.floor(body.byteLength / 2);
  while (end > 0 && ((body[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return body.subarray(0, end);
}
