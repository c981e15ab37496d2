// The test environments jsdom and happy-dom, of Vitest and of Jest: a delivery to a real server, bytes of the realm, and a letter.
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from '@jest/globals';
import { consumer } from './consumer.js';

const SUITE = `
const KEY = 'pri_dom';
const sent = (order_id) =>
  signedDelivery(fixtures.transactionPaid({ payload: { transaction: { order_id } } }), { privateKey: KEY });
const handlers = {
  'transaction.paid': ({ payload }) => {
    if (payload.transaction.order_id === 'later') throw new RetryAfterError(new Date(Date.now() + 60_000));
  },
};

test('a server', async () => {
  const app = express();
  const hooks = receiver({ privateKey: KEY, logger: false, deadLetters: memoryDeadLetters(), handlers });
  app.post('/raw', express.raw({ type: '*/*' }), hooks);
  app.post('/hooks', hooks);
  const paid = fixtures.transactionPaid();
  expect((await deliver(app, paid, { privateKey: KEY })).status).toBe(200);
  expect((await deliver(app, fixtures.transactionPaid(), { privateKey: KEY, path: '/raw' })).status).toBe(200);
  const { rawBody, headers } = sent('later');
  const later = await hooks.receive({ rawBody: new Uint8Array(rawBody), headers });
  expect([later.status, later.headers['Retry-After']]).toEqual([503, '60']);
  const letters = [];
  for await (const letter of hooks.deadLetters.list({ since: new Date(0) })) letters.push(letter);
  expect(letters.length).toBe(1);
  expect((await hooks.deadLetters.read(letters[0].id)).status).toBe('found');
});

test('bytes of the realm', async () => {
  const { rawBody, headers } = sent('bytes');
  const hooks = receiver({ privateKey: () => new Uint8Array(Buffer.from(KEY)), logger: false, store: false });
  const bytes = new Uint8Array(rawBody);
  for (const given of [bytes, bytes.buffer, rawBody, rawBody.toString()])
    expect((await hooks.receive({ rawBody: given, headers })).status).toBe(200);
});
`;
const NAMES: readonly (readonly [names: string, from: string])[] = [
  ['memoryDeadLetters, receiver, RetryAfterError', 'payment-webhooks'],
  ['deliver, fixtures, signedDelivery', 'payment-webhooks/testing'],
];
const imported = NAMES.map(([names, from]) => `import { ${names} } from '${from}';`).join('\n');
const required = NAMES.map(([names, from]) => `const { ${names} } = require('${from}');`).join('\n');
const ESM = `import { expect, test } from 'vitest';\nimport express from 'express';\n${imported}\n${SUITE}`;
const CJS = `const express = require('express');\n${required}\n${SUITE}`;

test.each([
  ['Vitest with jsdom', ['vitest@4', 'jsdom'], 'npx vitest run --environment jsdom'],
  ['Vitest with happy-dom', ['vitest@4', 'happy-dom'], 'npx vitest run --environment happy-dom'],
  ['Jest with jsdom', ['jest@30', 'jest-environment-jsdom@30'], 'npx jest --env jsdom --forceExit'],
])(
  'the suite passes in %s',
  async (name, packages, command) => {
    const project = await consumer(name.replace(/\W+/g, '-').toLowerCase(), ['express', ...packages]);
    if (command.includes('vitest')) project.write('dom.test.mjs', ESM);
    else project.write('dom.test.js', CJS);
    const { code, stdout, stderr } = await project.shell(command);
    const output = stripVTControlCharacters(stdout + stderr);
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/Tests:? +2 passed/) });
  },
  300_000,
);
