// Each failed attempt says in one line why, and what to do; the documentation is indexed by these lines.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Attempt, FaultKind, SimulatorOptions } from 'payment-webhooks/simulator';
import { DIAGNOSES, diagnose } from '../../../src/tools/simulator/delivery/diagnose.js';
import { needing } from '../../setup/platform.js';
import { refusingPort } from '../../setup/ports.js';
import { type Answer, endpoint, listening, simulator } from './world.js';

async function attempt(
  url: string,
  options: SimulatorOptions = {},
  fault?: FaultKind,
): Promise<Attempt | undefined> {
  const service = await simulator({ retry: 'off', ...options });
  await service.webhooks.create({ url });
  if (fault) service.faults.once(fault);
  const [delivery] = await service.trigger('transaction.paid');
  return delivery?.attempts[0];
}

const diagnosisOf = async (answer: Answer) => (await attempt((await endpoint(answer)).url))?.diagnosis;

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

  test('uses the code BODY_CONSUMED of a receiver', async () => {
    const body = JSON.stringify({ message: 'set up wrongly', code: 'BODY_CONSUMED' });
    expect(await diagnosisOf((_, response) => response.writeHead(500).end(body))).toBe(
      DIAGNOSES.bodyConsumed,
    );
  });

  test('that succeeds has no line', async () => {
    expect(await diagnosisOf(204)).toBeNull();
  });
});

describe('no answer', () => {
  const none = (code: string) => ({
    fault: null,
    response: null,
    error: { code, message: '' },
    succeeded: false,
  });

  test('because nothing listens', async () => {
    const failed = await attempt(`http://127.0.0.1:${await refusingPort()}/hooks`);
    expect(failed).toMatchObject({ response: null, error: { code: 'ECONNREFUSED' }, outcome: null });
    expect(failed?.diagnosis).toBe(DIAGNOSES.refused);
  });

  test.each<[string, Answer, string, string]>([
    ['the connection was closed', (_, response) => void response.destroy(), 'ECONNRESET', DIAGNOSES.reset],
    [
      'the connection was reset',
      (_, response) => void response.socket?.resetAndDestroy(),
      'ECONNRESET',
      DIAGNOSES.reset,
    ],
    [
      'the answer is not HTTP',
      (_, response) => void response.socket?.end('220 smtp ready\r\n'),
      'HPE_INVALID_CONSTANT',
      DIAGNOSES.notHttp,
    ],
  ])('because %s', async (_, answer, code, diagnosis) => {
    const failed = await attempt((await endpoint(answer)).url);
    expect(failed).toMatchObject({ response: null, error: { code }, succeeded: false, diagnosis });
  });

  test('within the timeout, which is real time also under the manual clock, and is named', async () => {
    const failed = await attempt((await endpoint(() => {})).url, { timeout: 80 });
    expect(failed).toMatchObject({ response: null, error: { code: 'TIMEOUT' }, succeeded: false });
    expect(failed?.duration_ms).toBeGreaterThanOrEqual(75);
    expect(failed?.diagnosis).toBe(
      'Your endpoint did not answer within 80 ms. Answer sooner, or hand the work to a queue.',
    );
    expect(diagnose(none('TIMEOUT'), 10_000)).toContain('did not answer within 10 s.');
  });

  test('http behind an https URL', async () => {
    const { url } = await endpoint();
    expect((await attempt(url.replace('http:', 'https:')))?.diagnosis).toBe(DIAGNOSES.tls);
  });

  needing('openssl').test('a certificate that is not trusted', async () => {
    const { key, cert } = selfSigned();
    const server = https.createServer({ key, cert }, (_request, response) => response.end());
    const url = `https://127.0.0.1:${await listening(server)}/`;
    expect((await attempt(url))?.diagnosis).toBe(DIAGNOSES.certificate);
  });

  test('an endpoint that is never reached is the cause, whatever fault was in force', async () => {
    const url = `http://127.0.0.1:${await refusingPort()}/hooks`;
    expect((await attempt(url, {}, 'truncate_body'))?.diagnosis).toBe(DIAGNOSES.refused);
  });

  test('an unknown error code still gets a line', () => {
    const of = (code: string) => diagnose(none(code), 10_000);
    expect(of('EMFILE')).toBe(DIAGNOSES.network);
    expect(of('EHOSTUNREACH')).toBe(DIAGNOSES.unreachable);
    expect(of('ERR_TLS_CERT_ALTNAME_INVALID')).toBe(DIAGNOSES.certificate);
    expect(of('ERR_SSL_WRONG_VERSION_NUMBER')).toBe(DIAGNOSES.tls);
  });
});

describe('a fault', () => {
  const faulted = async (kind: FaultKind, answer: Answer) => attempt((await endpoint(answer)).url, {}, kind);

  test.each<[FaultKind, number, string]>([
    ['wrong_key', 401, DIAGNOSES.faultRefused],
    ['wrong_key', 200, DIAGNOSES.faultAccepted],
    ['wrong_key', 500, DIAGNOSES.failed],
    ['drop', 200, DIAGNOSES.faultLost],
    ['truncate_body', 200, DIAGNOSES.faultLost],
  ])('%s, answered %d: %s', async (kind, status, line) => {
    const attempt = await faulted(kind, status);
    expect(attempt?.diagnosis).toBe(line.replace('{fault}', kind));
    expect(attempt?.succeeded).toBe(line === DIAGNOSES.faultAccepted);
  });
});

test('docs/troubleshooting.md has one heading for each line, and no other', () => {
  const text = readFileSync(join(__dirname, '../../../docs/troubleshooting.md'), 'utf8');
  const headings = [...text.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
  expect([...headings].sort()).toEqual(Object.values(DIAGNOSES).sort());
});

test('every line has less than 130 characters', () => {
  for (const line of Object.values(DIAGNOSES)) expect(line.length).toBeLessThan(130);
});

/** A certificate for 127.0.0.1, made with the openssl program. */
function selfSigned(): { key: string; cert: string } {
  const pem = execFileSync(
    'openssl',
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 -keyout - -out -'.split(
      ' ',
    ),
    { stdio: ['ignore', 'pipe', 'ignore'] },
  ).toString();
  const [key = ''] = /-----BEGIN PRIVATE KEY-----[\s\S]+?-----END PRIVATE KEY-----/.exec(pem) ?? [];
  const [cert = ''] = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/.exec(pem) ?? [];
  return { key, cert };
}
