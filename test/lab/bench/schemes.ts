// How each service signs: its headers, and what goes into the HMAC-SHA256.
import { createHmac } from 'node:crypto';
import { ID } from './events.js';

/** The one secret of all contestants; each takes it from the environment under this name. */
export const SECRET = { SERVICE_PRIVATE_KEY: 'pri_0123456789abcdef0123456789abcdef' };

export interface Scheme {
  /** `{id}`, `{time}` (seconds) and `{body}` stand for what they say. */
  readonly signed: string;
  readonly encoding: 'hex' | 'base64';
  /** `{signature}`, `{id}` and `{time}` stand for what they say. */
  readonly headers: Readonly<Record<string, string>>;
}

export const schemes = {
  ours: { signed: '{body}', encoding: 'hex', headers: { 'X-SERVICE-SIGNATURE': '{signature}' } },
  github: {
    signed: '{body}',
    encoding: 'hex',
    headers: {
      'X-GitHub-Event': 'issues',
      'X-GitHub-Delivery': '{id}',
      'X-Hub-Signature-256': 'sha256={signature}',
    },
  },
  stripe: {
    signed: '{time}.{body}',
    encoding: 'hex',
    headers: { 'Stripe-Signature': 't={time},v1={signature}' },
  },
  line: { signed: '{body}', encoding: 'base64', headers: { 'X-Line-Signature': '{signature}' } },
  standard: {
    signed: '{id}.{time}.{body}',
    encoding: 'base64',
    headers: { 'webhook-id': '{id}', 'webhook-timestamp': '{time}', 'webhook-signature': 'v1,{signature}' },
  },
  svix: {
    signed: '{id}.{time}.{body}',
    encoding: 'base64',
    headers: { 'svix-id': '{id}', 'svix-timestamp': '{time}', 'svix-signature': 'v1,{signature}' },
  },
  slack: {
    signed: 'v0:{time}:{body}',
    encoding: 'hex',
    headers: { 'X-Slack-Request-Timestamp': '{time}', 'X-Slack-Signature': 'v0={signature}' },
  },
} as const satisfies Record<string, Scheme>;

export interface Letter {
  readonly id: string;
  readonly time: string;
  readonly body: string;
}

export function messageOf(scheme: Scheme, letter: Letter): string {
  return fill(scheme.signed, { ...letter });
}

export function signatureOf(scheme: Scheme, letter: Letter): string {
  return createHmac('sha256', SECRET.SERVICE_PRIVATE_KEY)
    .update(messageOf(scheme, letter))
    .digest(scheme.encoding);
}

export function headersOf(scheme: Scheme, letter: Letter, signature: string): Record<string, string> {
  const { id, time } = letter;
  const filled = Object.entries(scheme.headers).map(([name, value]) => [
    name,
    fill(value, { id, time, signature }),
  ]);
  return { 'Content-Type': 'application/json', ...Object.fromEntries(filled) };
}

/** All of it as it is on the wire. */
export function requestOf(scheme: Scheme, letter: Letter, signature: string): string {
  const headers = {
    Host: '127.0.0.1',
    ...headersOf(scheme, letter, signature),
    'Content-Length': String(letter.body.length),
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /hooks HTTP/1.1\r\n${head.join('')}\r\n${letter.body}`;
}

/** Of the event in this body, with an id that ends with the number. */
export function ownRequest(body: string, number: number): string {
  const id = ID.slice(0, -12) + String(number).padStart(12, '0');
  const letter = { id, time: '0', body: body.replace(ID, id) };
  return requestOf(schemes.ours, letter, signatureOf(schemes.ours, letter));
}

function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (mark, name: string) => values[name] ?? mark);
}
