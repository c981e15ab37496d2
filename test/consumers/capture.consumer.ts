// `capture` of the packed package, with a sender from the registry: its header is found, with the prefix that it writes.
import { expect, test } from '@jest/globals';
import { freePort } from '../setup/ports.js';
import { consumer, INSTALLED_ONLY } from './consumer.js';

const SENDER = `
import { sign } from '@octokit/webhooks-methods';
const [, , url] = process.argv;
const body = JSON.stringify({ id: 'evt_octokit', event_name: 'transaction.paid', sandbox: true, payload: {} });
const headers = { 'X-Hub-Signature-256': await sign('pri_live_4f9d21c07ab8', body) };
for (let tries = 1; ; tries += 1) {
  const answer = await fetch(url, { method: 'POST', headers, body }).catch((error) => error);
  if (answer.status === 200) break;
  if (tries === 100) throw answer;
  await new Promise((resolve) => setTimeout(resolve, 200));
}
`;

test('the signature by @octokit/webhooks-methods is found', async () => {
  const project = await consumer('capture', ['express@5', '@octokit/webhooks-methods@6']);
  project.write('sender.mjs', SENDER);
  project.write('keys.txt', 'pri_live_4f9d21c07ab8\n');
  const port = await freePort();
  const words = `npx payment-webhooks capture --once --json --port ${port} --key-file keys.txt`;
  const environment = Object.entries(INSTALLED_ONLY).map(([name, value]) => `${name}=${value}`);
  const [captured, sent] = await Promise.all([
    project.shell(`${environment.join(' ')} ${words}`),
    project.node(['sender.mjs', `http://127.0.0.1:${port}/hooks`]),
  ]);
  expect(sent).toMatchObject({ code: 0, stderr: '' });
  expect(captured.code).toBe(0);
  expect(JSON.parse(captured.stdout).signature).toMatchObject({
    ...{ header: 'X-Hub-Signature-256', form: 'digits after the prefix "sha256="', key: 0 },
  });
}, 300_000);
