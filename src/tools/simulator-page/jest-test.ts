// Writes a delivery as a Jest test for the project of the endpoint.
import type { Attempt, Delivery } from './api.js';

/** The test sends the same bytes, signed with the key from the environment. */
export function jestTest({ event_name: name }: Delivery, { request, response }: Attempt): string {
  const { pathname } = new URL(request.url);
  const status = response && response.status < 300 ? response.status : 200;
  return `import { expect, test } from '@jest/globals';
import { deliver } from 'payment-webhooks/testing';
import { app } from '../src/app.js';

test(${JSON.stringify(`receives ${name}`)}, async () => {
  const body = ${JSON.stringify(request.body)};
  const privateKey = process.env.SERVICE_PRIVATE_KEY;
  const answer = await deliver(app, body, { privateKey, path: ${JSON.stringify(pathname)} });
  expect(answer.status).toBe(${status});
});
`;
}
