// Every message names the flag, the argument or the variable that the person typed, and no option of the API.
import { expect, test } from '@jest/globals';
import { CLIENT_OPTIONS } from '../../../src/client/options.js';
import { SIMULATOR_OPTIONS } from '../../../src/tools/simulator/settings.js';
import { freePort } from '../../setup/ports.js';
import { fileWith } from './files.js';
import { failed, runCli } from './run-cli.js';

// Those that are no word of English, so that a message may not hold them at all.
const API_NAMES = [...SIMULATOR_OPTIONS.names, ...CLIENT_OPTIONS.names, 'signatureHeader'].filter((name) =>
  /[A-Z]/.test(name),
);

const sim = { SERVICE_PRIVATE_KEY: 'pri_sim_dev' };
const sandbox = { SERVICE_PRIVATE_KEY: 'pri_sandbox_c4nary' };
const api = { SERVICE_API_URL: 'https://x.example' };
const live = ['account', '--live'];
const url = 'https://shop.example/hooks';
const simulate = ['simulate', '--port', '0', '--forward'];

async function expectRefused(words: readonly string[], env: Record<string, string>, message: RegExp) {
  // A simulator that starts after all would run until it is stopped.
  const stop = setTimeout(() => process.emit('SIGTERM'), 10_000);
  const run = await runCli(words, { env });
  clearTimeout(stop);
  expect(run).toEqual(failed(2, message));
  expect(API_NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(run.stderr))).toEqual([]);
  expect(run.stderr).not.toContain('c4nary');
}

test.each<[readonly string[], Record<string, string>, RegExp]>([
  [['simulate', '--retry', 'fsat'], {}, /^--retry "fsat" is not .* Did you mean "fast"\?\n/],
  [['simulate', '--retry', '1s,soon'], {}, /^--retry "1s,soon" .*: "soon" is not a duration/],
  [['simulate', '--retry', ''], {}, /^--retry "" is not/],
  [['simulate', '--forward', '/hooks'], {}, /^--forward "\/hooks" is not/],
  [['simulate', '--froward', '3000'], {}, /^Unknown option --froward\. Did you mean "--forward"\?/],
  [[...simulate, 'http://u:c4nary@localhost:3917/hooks'], {}, /^--forward must not/],
  [[...simulate, 'http://169.254.169.254/', '--allow-target', '169.254.169.254'], {}, /never connects to/],
  [[...simulate, `3000/${'x'.repeat(2_048)}`], {}, /^--forward is longer than/],
  [['simulate', '--port', 'x'], {}, /^--port "x" is/],
  [['simulate', '--port', '70000'], {}, /^--port "70000" is not an integer from 0 to 65535/],
  [['simulate', '--host', '0.0.0.0'], {}, /^--host "0\.0\.0\.0" lets .* such as --allow-host simulator\.\n/],
  [['simulate', '--host', ' '], {}, /^--host is empty/],
  [['simulate', '--allow-host', 'simulator:4747'], {}, /^--allow-host "simulator:4747" is not a host/],
  [['simulate', '--allow-host', '*'], {}, /^--allow-host "\*" is not a host/],
  [['simulate', '--allow-host', ''], {}, /^--allow-host "" is not a host/],
  [['simulate', '--seed', ''], {}, /^--seed is empty/],
  [['simulate', '--signature-header', 'a b'], {}, /^--signature-header "a b" is not a valid header name/],
  // The name that doctor has for it.
  [['simulate', '--header', 'a b'], {}, /^--signature-header "a b" is not a valid header name/],
  [['simulate', '--state', ' '], {}, /^--state is empty/],
  [['simulate', '--allow-target', ''], {}, /^--allow-target is empty/],
  [['simulate'], { SERVICE_PRIVATE_KEY: 'pri_sim_inactive' }, /^SERVICE_PRIVATE_KEY is the seeded key/],
  [['simulate'], { SERVICE_PRIVATE_KEY: 'pri_sandbox_sim_' }, /^SERVICE_PRIVATE_KEY .* "pri_sandbox_sim_"/],
  [['sign'], {}, /Set SERVICE_PRIVATE_KEY, or give --key-file/],
  [['sign'], { SERVICE_PRIVATE_KEY: 'a\tc4nary' }, /^SERVICE_PRIVATE_KEY has a line break/],
  [['sign'], { SERVICE_PRIVATE_KEY: '' }, /^SERVICE_PRIVATE_KEY is empty/],
  [['sign'], { SERVICE_PRIVATE_KEY: ' pri_c4nary' }, /^SERVICE_PRIVATE_KEY begins or ends with white space/],
  [['sign', '--key-file', '/c4nary'], {}, /^--key-file cannot be read \(ENOENT\)/],
  [['sign', '--body', '@/nowhere'], sim, /^--body "@\/nowhere" cannot be read \(ENOENT\)/],
  [['doctor', '3000', '--header', 'a b'], sim, /^--header "a b" is not a valid header name/],
  [['doctor', '3000', '--timeout', 'soon'], sim, /^--timeout "soon" is not a duration/],
  [['doctor', '3000', '--timeout', '0'], sim, /^--timeout "0" is too short\. Pass one like 30s\./],
  [['doctor', 'hooks'], sim, /^URL "hooks" is not/],
  [['account', '--url', 'nonsense'], {}, /^--url is not the address of a simulator\. Pass one/],
  [['account'], { SERVICE_SIM_URL: 'nonsense' }, /^SERVICE_SIM_URL is not the address of a simulator/],
  [['account', '--url', 'http://127.0.0.1:1/api/v2'], {}, /^--url ends in \/api\/v2\. Remove/],
  [live, { ...sim, SERVICE_API_URL: 'ftp://x' }, /^SERVICE_API_URL is not an absolute https: URL/],
  [live, { ...api, ...sandbox }, /^SERVICE_PRIVATE_KEY is a sandbox key.*Pass the live key/],
  [['webhooks', 'delete', ''], {}, /^ID is empty/],
  [['webhooks', 'create', 'shop.example'], {}, /^URL is not an absolute URL/],
  [['webhooks', 'create', url, '--events', ''], {}, /^--events "" is not a list of event names/],
  [['webhooks', 'create', url, '--events', 'a.b,,c.d'], {}, /^--events "a\.b,,c\.d" is not a list/],
  [['webhooks', 'update', 'w', '--url', 'x'], {}, /^--url is not an absolute URL/],
  [['deliveries', 'list', '--url', 'nonsense'], {}, /^--url is not the address of a simulator/],
  [['trigger', 'transaction.paid'], { SERVICE_SIM_URL: 'https://x' }, /^SERVICE_SIM_URL is not the address/],
  [['trigger', 'a.b', '--header', 'a b'], {}, /^--signature-header "a b" is not a valid header name/],
  [['trigger', 'a.b', '--count', '1001'], {}, /^--count "1001" is not an integer from 1 to 1000\./],
  [['trigger', 'a.b', '--count', 'many'], {}, /^--count "many" is not an integer from 1 to 1000\./],
  [['trigger', 'a.b', '--fault', 'tamper_bdy'], {}, /Did you mean "tamper_body"\?/],
  [['trigger', 'a.b', '--fault', 'x'], {}, /^--fault "x" is not one of duplicate, /],
  [['deliveries', 'list', '--limit', '0'], {}, /^--limit "0" is not an integer from 1 to 1000\./],
  [['deliveries', 'list', '--status', 'lost'], {}, /^--status "lost" is not one of pending, /],
  [['deliveries', 'list', '--status', 'failed,deliverd'], {}, /Did you mean "delivered"\?/],
  [['deliveries', 'list', '--event', 'paid'], {}, /^--event "paid" is not an event name or a pattern/],
  [['deliveries', 'show', 'x', '--attempt', 'last'], {}, /^--attempt "last" is not an integer/],
])('%j %j', expectRefused);

test('simulate that would deliver to itself', async () => {
  const port = String(await freePort());
  const words = ['simulate', '--port', port, '--forward', `${port}/hooks`];
  await expectRefused(
    words,
    {},
    /^--forward is the simulator's own address\. Use the URL of your endpoint\./,
  );
});

test('simulate in production', async () => {
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = 'production';
  await expectRefused(
    ['simulate'],
    { NODE_ENV: 'production' },
    /^NODE_ENV is "production".* --allow-production/,
  );
  process.env.NODE_ENV = NODE_ENV;
});

test.each<[string, string, RegExp]>([
  [
    'simulate',
    'pri_c4nary',
    /^The live key in --key-file does not begin with "pri_sim_".*Pass a simulator key/,
  ],
  ['simulate', 'pri_sandbox_c4nary', /^The sandbox key in --key-file does not begin with "pri_sandbox_sim_"/],
  ['simulate', 'pri_sim_a:c4nary\n', /^The live key in --key-file contains a space, a colon/],
  ['simulate', 'pri_sim_inactive\n', /^The live key in --key-file is the seeded key/],
  ['simulate', 'pri_sim_a\npri_sim_b\n', /^--key-file holds several keys of one kind/],
  ['sign', '', /^A key in --key-file is empty/],
  ['sign', ' c4nary', /^A key in --key-file begins or ends with white space/],
  ['sign', 'c4nary \n', /^A key in --key-file begins or ends with white space/],
  ['sign', 'c4nary\nb\n', /^--key-file holds 2 keys/],
  ['account', 'pri_sim_a:b', /^The key in --key-file has a colon/],
])('%s with a key file of %j', async (command, keys, message) => {
  await expectRefused([command, '--key-file', fileWith(keys)], {}, message);
});

test.each([
  ...['pri_c4nary', 'pri_sandbox_c4nary', 'pri_sim_c4nary', 'key_pri_c4nary'],
  ...['http://pri_c4nary:@localhost', 'pri_c4nary.pri_sim_'],
])('the key in %s is cut', async (key) => {
  const values = [
    ['sign', '--body', `@${key}`],
    ['simulate', '--retry', key],
  ];
  await expectRefused(['webhooks', key], sim, /^`webhooks` needs one of/);
  for (const argv of [[key], ['sign', key], ...values]) await expectRefused(argv, sim, /pri_…/);
});
