// An endpoint written from the service's documentation alone: it shares no code with the package that it checks.
import { createHmac } from 'node:crypto';
import express from 'express';
import express4 from 'express4';

export interface IndependentEndpoint {
  readonly app: ReturnType<typeof express>;
  /** The bodies that were accepted. */
  readonly accepted: Buffer[];
}

export const EXPRESS_MAJORS = [
  ['Express 5', express],
  ['Express 4', express4 as unknown as typeof express],
] as const;

export function independentEndpoint(
  privateKey: string | Buffer,
  { framework = express, header = 'x-service-signature', path = '/hooks' } = {},
): IndependentEndpoint {
  const app = framework();
  const accepted: Buffer[] = [];
  app.post(path, async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const digest = createHmac('sha256', privateKey).update(body).digest('hex');
    const isPlain =
      !request.headers['content-encoding'] && !/utf-16/i.test(`${request.headers['content-type']}`);
    if (!isPlain) return response.status(415).json({});
    if (body.length > 262_144) return response.status(413).json({});
    if (request.headers[header] !== digest) return response.status(401).json({ message: 'Unauthenticated.' });
    const event = parse(body.toString());
    if (event === undefined) return response.status(400).json({});
    const { id, event_name, sandbox, payload } = event;
    const named = typeof id === 'string' && /^\S+$/.test(id) && /\S\.\S/.test(event_name);
    if (!named || typeof sandbox !== 'boolean' || typeof payload !== 'object') {
      return response.status(422).json({});
    }
    accepted.push(body);
    return response.json({ received: true, outcome: 'processed' });
  });
  return { app, accepted };
}

function parse(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
