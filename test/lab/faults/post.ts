// Posts one signed event, and says what came back and when.
import { request } from 'node:http';
import { delivery } from '../../setup/delivery.js';
import type { AttemptRecord } from './history.js';
import { PRIVATE_KEY } from './merchant.js';

export type Attempt = Pick<AttemptRecord, 'at' | 'answeredAt' | 'status' | 'body'>;

const ANSWER_MS = 6_000;

export function post(port: number, event: object, privateKey = PRIVATE_KEY): Promise<Attempt> {
  const at = Date.now();
  const { body: bytes, headers } = delivery(event, privateKey);
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
    req.end(bytes);
  });
}
