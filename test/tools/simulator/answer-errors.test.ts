// Every error thrown while a request is handled becomes an answer without internal details.
import { expect, test } from '@jest/globals';
import express from 'express';
import { ConfigurationError } from '../../../src/errors.js';
import { answerErrors } from '../../../src/tools/simulator/api/answer-errors.js';
import { HttpError } from '../../../src/tools/web/http-error.js';
import { captureLog } from '../../setup/captured-log.js';
import { call, served } from './world.js';

async function answerTo(thrown: unknown) {
  const { logger, text } = captureLog();
  const app = express();
  app.use((_request, _response, next) => next(thrown));
  app.use(answerErrors(logger));
  const { status, json } = await call(await served(app));
  return { status, json, text };
}

test('answers an HttpError with its message, and does not log it', async () => {
  expect(await answerTo(new HttpError(409, 'Nothing waits.'))).toEqual({
    status: 409,
    json: { message: 'Nothing waits.' },
    text: [],
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
    const { status, json, text } = await answerTo(thrown);
    expect([status, json]).toEqual([500, { message: 'The simulator failed.' }]);
    expect(text).toEqual([expect.stringContaining('"msg":"a request failed"')]);
    expect(text.join()).not.toContain('of the inside');
  },
);
