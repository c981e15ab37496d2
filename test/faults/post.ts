// Posts one signed event, and says what came back and when.
import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import type { AttemptRecord } from './history.js';
import { PRIVATE_KEY } from './merchant.js';

export type Attempt = Pick<AttemptRecord, 'at' | 'answeredAt' | 'status' | 'body'>;

const ANSWER_MS = 6_000;

export function post(port: number, event: string, privateKey = PRIVATE_KEY): Promise<Attempt> {
  const at = Date.now();
  const signature = createHmac('sha256', privateKey).update(event).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-service-signature': signature };
  const options = { port, host: '127.0.0.1', method: 'POST', headers, agent: false };
  return new Promise((resolve) => {
    const broken = () => resolve({ at, answeredAt: Date.now(), body: '' });
    const req = request(options, (res) => {
      let body = '';
      res.on('data', (chunk) => {
        body += chunk;
      });
      res.on('end', () => resolve({ at, answeredAt: Date.now(), status: res.statusCode ?? 0, body }));
      res.on('error', broken).on('aborted', broken);
    });
    req.setTimeout(ANSWER_MS, () => req.destroy());
    req.on('error', broken).on('close', broken);
    req.end(event);
  });
}
