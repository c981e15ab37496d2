// One request, sent in the ways that senders and networks behave.
import { type Agent, type ClientRequest, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

export type SendMode = 'whole' | 'in pieces' | 'stuck' | 'aborted halfway' | 'aborted at the end';

export interface SignedBody {
  readonly body: Buffer;
  readonly signature: string;
}

export interface Answer {
  /** Undefined when the connection ended without one. */
  readonly status: number | undefined;
  readonly body: string;
}

export interface Address {
  readonly port: number;
  readonly agent: Agent;
}

const PIECES = 6;
const LONGEST_MS = 15_000;

export function post(
  { port, agent }: Address,
  { body, signature }: SignedBody,
  mode: SendMode,
): Promise<Answer> {
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    'x-service-signature': signature,
  };
  return new Promise((resolve) => {
    const broken = () => resolve({ status: undefined, body: '' });
    const req = request(
      // A sender that misbehaves has a connection of its own.
      { port, host: '127.0.0.1', path: '/hooks', method: 'POST', headers, agent: mode === 'whole' && agent },
      (res) => {
        let text = '';
        res.setEncoding('utf8');
        res.on('data', (chunk: string) => {
          text += chunk;
        });
        res.on('end', () => resolve({ status: res.statusCode, body: text }));
        res.on('error', broken).on('aborted', broken);
      },
    );
    req.setTimeout(LONGEST_MS, () => req.destroy());
    req.on('error', broken).on('close', broken);
    void write(req, body, mode);
  });
}

async function write(req: ClientRequest, body: Buffer, mode: SendMode): Promise<void> {
  if (mode === 'whole' || mode === 'aborted at the end') req.end(body);
  else if (mode === 'in pieces') await writeSlowly(req, body);
  else req.write(body.subarray(0, body.length / 2));
  if (!mode.startsWith('aborted')) return;
  await pause(Math.random() * 50);
  req.destroy();
}

async function writeSlowly(req: ClientRequest, body: Buffer): Promise<void> {
  const size = Math.ceil(body.length / PIECES);
  for (let at = 0; at < body.length; at += size) {
    req.write(body.subarray(at, at + size));
    await pause(50 + Math.random() * 200);
  }
  req.end();
}
