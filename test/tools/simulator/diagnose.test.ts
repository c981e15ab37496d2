// Each failed attempt says in one line why, and what to do; the documentation is indexed by these lines.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Attempt } from 'payment-webhooks/simulator';
import { DIAGNOSES, diagnose } from '../../../src/tools/simulator/delivery/diagnose.js';
import { needing } from '../../setup/platform.js';
import { refusingPort } from '../../setup/ports.js';
import { type Answer, afterwards, endpoint, simulator } from './world.js';

async function attempt(
  url: string,
  options: Parameters<typeof simulator>[0] = {},
): Promise<Attempt | undefined> {
  const service = await simulator({ retry: 'off', ...options });
  await service.webhooks.create({ url });
  const [delivery] = await service.trigger('transaction.paid');
  return delivery?.attempts[0];
}

async function diagnosisOf(answer: Answer, options: Parameters<typeof simulator>[0] = {}) {
  return (await attempt((await endpoint(answer)).url, options))?.diagnosis;
}

describe('an answer', () => {
  test('401 after a correct signature names the usual causes', async () => {
    expect(await diagnosisOf(401)).toBe(
      'Your endpoint refused a correct signature. Its key is not that of the simulator (pri_sim_dev), or its signatureHeader differs.',
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
    [600, DIAGNOSES.odd],
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
  test('nothing listens', async () => {
    const url = `http://127.0.0.1:${await refusingPort()}/hooks`;
    expect((await attempt(url))?.diagnosis).toBe(DIAGNOSES.refused);
  });

  test('a timeout says how long it was', async () => {
    expect(await diagnosisOf(() => {}, { timeout: 80 })).toBe(
      'Your endpoint did not answer in time: answer within 80 ms, or hand the work to a queue.',
    );
    const late = { fault: null, response: null, error: { code: 'TIMEOUT', message: '' }, succeeded: false };
    expect(diagnose(late, 10_000)).toContain('answer within 10 s, or hand the work to a queue');
  });

  test('a connection that is closed without an answer', async () => {
    expect(await diagnosisOf((_, response) => void response.destroy())).toBe(DIAGNOSES.reset);
  });

  test('an answer that is not HTTP', async () => {
    expect(await diagnosisOf((_, response) => void response.socket?.end('220 smtp ready\r\n'))).toBe(
      DIAGNOSES.notHttp,
    );
  });

  test('http behind an https URL', async () => {
    const { url } = await endpoint();
    expect((await attempt(url.replace('http:', 'https:')))?.diagnosis).toBe(DIAGNOSES.tls);
  });

  needing('openssl').test('a certificate that is not trusted', async () => {
    const { key, cert } = selfSigned();
    const server = https.createServer({ key, cert }, (_request, response) => response.end());
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    afterwards(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as { port: number };
    expect((await attempt(`https://127.0.0.1:${port}/`))?.diagnosis).toBe(DIAGNOSES.certificate);
  });

  test('an endpoint that is never reached is the cause, whatever fault was in force', async () => {
    const service = await simulator({ retry: 'off' });
    await service.webhooks.create({ url: `http://127.0.0.1:${await refusingPort()}/hooks` });
    service.faults.once('truncate_body');
    const [delivery] = await service.trigger('transaction.paid');
    expect(delivery?.attempts[0]?.diagnosis).toBe(DIAGNOSES.refused);
  });

  test('an unknown error code still gets a line', () => {
    const of = (code: string) =>
      diagnose({ fault: null, response: null, error: { code, message: '' }, succeeded: false }, 10_000);
    expect(of('EMFILE')).toBe(DIAGNOSES.network);
    expect(of('EHOSTUNREACH')).toBe(DIAGNOSES.unreachable);
    expect(of('ERR_TLS_CERT_ALTNAME_INVALID')).toBe(DIAGNOSES.certificate);
    expect(of('ERR_SSL_WRONG_VERSION_NUMBER')).toBe(DIAGNOSES.tls);
  });
});

describe('a fault', () => {
  async function faulted(kind: 'wrong_key' | 'drop' | 'truncate_body', answer: Answer) {
    const service = await simulator({ retry: 'off' });
    const { url } = await endpoint(answer);
    await service.webhooks.create({ url });
    service.faults.once(kind);
    const [delivery] = await service.trigger('transaction.paid');
    return delivery?.attempts[0];
  }

  test('that the endpoint noticed is as it should be', async () => {
    expect((await faulted('wrong_key', 401))?.diagnosis).toBe(
      'Refused, as it should be: the fault wrong_key changed this attempt on purpose.',
    );
  });

  test('that the endpoint accepted is reported, although the attempt succeeded', async () => {
    const attempt = await faulted('wrong_key', 200);
    expect(attempt?.succeeded).toBe(true);
    expect(attempt?.diagnosis).toMatch(
      /^Your endpoint accepted a delivery that the fault wrong_key had changed/,
    );
  });

  test('that loses the delivery says so', async () => {
    expect((await faulted('drop', 200))?.diagnosis).toBe(
      'Lost on purpose: the fault drop kept this attempt from arriving. The next retry delivers the event.',
    );
    expect((await faulted('truncate_body', 200))?.diagnosis).toMatch(
      /^Lost on purpose: the fault truncate_body kept/,
    );
  });

  test('is not the diagnosis of a handler that fails', async () => {
    expect((await faulted('wrong_key', 500))?.diagnosis).toBe(DIAGNOSES.failed);
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
