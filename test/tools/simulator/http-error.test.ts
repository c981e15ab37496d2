// Every error thrown while a request is handled becomes an answer without internal details.
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import express from 'express';
import { ConfigurationError } from '../../../src/errors.js';
import { answerErrors, HttpError } from '../../../src/tools/pages/http-error.js';
import { afterwards, call } from './world.js';

async function answerTo(thrown: unknown) {
  const lines: string[] = [];
  const note = (fields: object | string, message?: string) =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  const app = express();
  app.use((_request, _response, next) => next(thrown));
  app.use(answerErrors({ info: note, warn: note, error: note }));
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  afterwards(() => new Promise((resolve) => server.close(resolve)));
  const { status, json } = await call(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return { status, json, lines };
}

test('answers an HttpError with its message, and does not log it', async () => {
  expect(await answerTo(new HttpError(409, 'Nothing waits.'))).toEqual({
    status: 409,
    json: { message: 'Nothing waits.' },
    lines: [],
  });
  expect((await answerTo(HttpError.invalid({ url: ['Wrong.'] }))).json).toEqual({
    message: 'Wrong.',
    errors: { url: ['Wrong.'] },
  });
});

test('answers a ConfigurationError with 422', async () => {
  expect(await answerTo(new ConfigurationError('Wrong.'))).toMatchObject({
    status: 422,
    json: { message: 'Wrong.' },
  });
});

test.each([new TypeError('of the inside'), { status: 200 }, { status: 599 }, 'text'])(
  'answers 500 without details for an error of the simulator, and logs it: %s',
  async (thrown) => {
    const { status, json, lines } = await answerTo(thrown);
    expect([status, json]).toEqual([500, { message: 'The simulator failed.' }]);
    expect(lines).toEqual([expect.stringMatching(/^a request failed/)]);
    expect(lines.join()).not.toContain('of the inside');
  },
);
