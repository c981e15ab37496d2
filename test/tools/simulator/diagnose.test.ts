// Each failed attempt says in one line why, and what to do; the documentation is indexed by these lines.
import { readFileSync } from 'node:fs';
import https from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { FaultKind } from 'payment-webhooks/simulator';
import { DIAGNOSES, diagnose } from '../../../src/tools/simulator/delivery/diagnose.js';
import { needing } from '../../setup/platform.js';
import { refusingPort } from '../../setup/ports.js';
import { type Answer, attemptAt, endpoint, listening, selfSigned } from './world.js';

const attemptWith = async (answer: Answer, options: Parameters<typeof attemptAt>[1] = {}) =>
  attemptAt((await endpoint(answer)).url, options);
const diagnosisOf = async (answer: Answer) => (await attemptWith(answer))?.diagnosis;
const nowhere = async () => `http://127.0.0.1:${await refusingPort()}/hooks`;

describe('an answer', () => {
  test('401 after a correct signature names the usual causes', async () => {
    expect(await diagnosisOf(401)).toBe(
      'Your endpoint rejected a correct signature. Check its key (that of the simulator is pri_sim_dev by default) and signatureHeader.',
    );
  });

  test.each([
    [302, DIAGNOSES.redirect],
    [308, DIAGNOSES.redirect],
    [400, DIAGNOSES.clientError],
    [403, DIAGNOSES.forbidden],
    [404, DIAGNOSES.notFound],
    [405, DIAGNOSES.wrongMethod],
    [408, DIAGNOSES.tooSlow],
    [410, DIAGNOSES.clientError],
    [413, DIAGNOSES.tooLarge],
    [415, DIAGNOSES.wrongType],
    [422, DIAGNOSES.invalid],
    [429, DIAGNOSES.tooMany],
    [500, DIAGNOSES.failed],
    [502, DIAGNOSES.badGateway],
    [503, DIAGNOSES.unavailable],
    [504, DIAGNOSES.badGateway],
    [599, DIAGNOSES.failed],
    [600, DIAGNOSES.unexpected],
  ])('%d: %s', async (status, line) => {
    expect(await diagnosisOf(status)).toBe(line);
  });

  // Of a receiver without the raw body: conformance.test.ts. Of success, none: deliverer.test.ts.
});

describe('no answer', () => {
  const diagnosisFor = (code: string) => {
    const none = { fault: null, response: null, error: { code, message: '' }, succeeded: false };
    return diagnose(none, 10_000);
  };

  test('because nothing listens', async () => {
    const failed = await attemptAt(await nowhere());
    expect(failed).toMatchObject({ response: null, outcome: null, diagnosis: DIAGNOSES.refused });
    const message = expect.stringContaining('connect ECONNREFUSED');
    expect(failed?.error).toEqual({ code: 'ECONNREFUSED', message });
  });

  test.each<[string, (socket?: Socket | null) => unknown, string, string]>([
    ['the connection was closed', (socket) => socket?.destroy(), 'ECONNRESET', DIAGNOSES.reset],
    ['the connection was reset', (socket) => socket?.resetAndDestroy(), 'ECONNRESET', DIAGNOSES.reset],
    ['the answer is not HTTP', (socket) => socket?.end('220\r\n'), 'HPE_INVALID_CONSTANT', DIAGNOSES.notHttp],
  ])('because %s', async (_, answer, code, diagnosis) => {
    const failed = await attemptWith((_received, { socket }) => void answer(socket));
    expect(failed).toMatchObject({ response: null, error: { code }, succeeded: false, diagnosis });
  });

  test('within the timeout, which is real time also under the manual clock, and is named', async () => {
    const failed = await attemptWith(() => {}, { timeout: 80 });
    expect(failed).toMatchObject({ response: null, error: { code: 'TIMEOUT' }, succeeded: false });
    expect(failed?.duration_ms).toBeGreaterThanOrEqual(75);
    expect(failed?.diagnosis).toBe(
      'Your endpoint did not answer within 80 ms. Answer sooner, or hand the work to a queue.',
    );
    expect(diagnosisFor('TIMEOUT')).toContain('did not answer within 10 s.');
  });

  test('http behind an https URL', async () => {
    const { url } = await endpoint();
    expect((await attemptAt(url.replace('http:', 'https:')))?.diagnosis).toBe(DIAGNOSES.tls);
  });

  needing('openssl').test('a certificate that is not trusted', async () => {
    const server = https.createServer(selfSigned(), (_request, response) => response.end());
    const url = `https://127.0.0.1:${await listening(server)}/`;
    expect((await attemptAt(url))?.diagnosis).toBe(DIAGNOSES.certificate);
  });

  test('an endpoint that is never reached is the cause, whatever fault was in force', async () => {
    const failed = await attemptAt(await nowhere(), { fault: 'truncate_body' });
    expect(failed?.diagnosis).toBe(DIAGNOSES.refused);
  });

  test.each([
    ['EMFILE', DIAGNOSES.network],
    ['EHOSTUNREACH', DIAGNOSES.unreachable],
    ['ERR_TLS_CERT_ALTNAME_INVALID', DIAGNOSES.certificate],
    ['ERR_SSL_WRONG_VERSION_NUMBER', DIAGNOSES.tls],
  ])('of the error %s: %s', (code, line) => expect(diagnosisFor(code)).toBe(line));
});

test.each<[FaultKind, number, string]>([
  ['wrong_key', 401, DIAGNOSES.faultRefused],
  ['wrong_key', 200, DIAGNOSES.faultAccepted],
  ['wrong_key', 500, DIAGNOSES.failed],
  ['drop', 200, DIAGNOSES.faultLost],
  ['truncate_body', 200, DIAGNOSES.faultLost],
])('the fault %s, answered %d: %s', async (fault, status, line) => {
  const attempt = await attemptWith(status, { fault });
  expect(attempt?.diagnosis).toBe(line.replace('{fault}', fault));
  expect(attempt?.succeeded).toBe(line === DIAGNOSES.faultAccepted);
});

test('docs/troubleshooting.md has one heading for each line, and no other', () => {
  const text = readFileSync(join(__dirname, '../../../docs/troubleshooting.md'), 'utf8');
  const headings = [...text.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
  expect([...headings].sort()).toEqual(Object.values(DIAGNOSES).sort());
});

test('every line has less than 130 characters', () => {
  for (const line of Object.values(DIAGNOSES)) expect(line.length).toBeLessThan(130);
});
