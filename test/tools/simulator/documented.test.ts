// What the service documents, with the tests that hold the simulator to it over HTTP, and what the simulator chose.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { SIMULATOR_OPTIONS } from '../../../src/tools/simulator/settings.js';

const MANAGED = 'a webhook is registered, listed, changed and deleted';
const REFUSED = '%s is refused on every endpoint, with exactly the documented body';
const BODY = 'the body is the documented event object';
const EMPTY_PASSWORD = 'the private key is the user name, and the password is empty';
const SCOPES = 'a token needs the scope of the endpoint';
const MOVED = 'that is given another URL and other events is notified of those there';
const NOTIFIED = 'that subscribes is notified, each by a delivery of its own';

/** What is documented, and the names of its tests here and in test/tools/cli/bin.test.ts. */
const TESTS_OF: Readonly<Record<string, readonly string[]>> = {
  // Endpoints
  'GET /api/v2/account/me returns the account': ['GET /account/me returns the authenticated account'],
  'GET /api/v2/webhooks lists the webhooks on the account': [MANAGED],
  'POST /api/v2/webhooks registers one': [
    MANAGED,
    'a webhook that was registered through the API is notified',
  ],
  'PUT /api/v2/webhooks/{id} changes its URL or its events': [MANAGED, MOVED],
  'DELETE /api/v2/webhooks/{id} deletes it': [
    MANAGED,
    'deleted: its pending deliveries are cancelled, and the record says why',
  ],
  'each accepts either kind of credential': [SCOPES, 'scopes do not apply to private keys'],
  'a request may carry Accept: application/json': [EMPTY_PASSWORD],
  // Authentication
  'every endpoint must be authenticated': [REFUSED],
  'the private key is the Basic user name, the password is empty': [EMPTY_PASSWORD],
  'a sandbox key is 401 on API v2': ['a sandbox key is refused on API v2'],
  'sandbox keys are valid on the sandbox endpoints': ['the sandbox key opens the sandbox endpoints'],
  'a private key reaches every endpoint; scopes do not apply to it': ['scopes do not apply to private keys'],
  'a key can be rotated': [
    'from then on the new key authenticates, and the old one does not',
    'after a rotation every delivery is signed with the new key, also one that began before it',
  ],
  'an access token is sent as Bearer; without the scope of the endpoint it is 403': [SCOPES],
  'the signature: lower-case hexadecimal HMAC-SHA256 of the raw body, keyed with the private key': [
    'the signature is the lower-case hexadecimal HMAC-SHA256 of the raw body, keyed with the private key',
  ],
  'the signature is over the raw bytes': [
    'bytes outside ASCII are signed as they are sent',
    'a retry and a resend send the same bytes with the same event id',
  ],
  // Events
  'every configured webhook of the account is notified': [NOTIFIED],
  'the body is the webhook event object': [BODY],
  'deliveries go over HTTPS to the registered URL': [
    'delivers over HTTPS, to an endpoint whose certificate it is told to trust',
  ],
  'a 2xx acknowledges, and nothing else': ['%d acknowledges', '%d does not'],
  'each delivery carries the signature': ['only what is documented and what HTTP needs is sent'],
  'event_name is <event_resource>.<event_action>': ['rejects what is not a valid event object'],
  'transaction.paid has token, customer, metadata, transaction with status 1, and payment_method': [BODY],
  'there are events whose payloads are not documented': [
    'an undeclared event is sent with the payload that it was given',
  ],
  'events carry a sandbox flag': ['a sandbox event says so, and is signed with the private key'],
  'the subscribed events are chosen when a webhook is registered or updated': [NOTIFIED, MOVED],
  'every attempt is recorded: what was sent, the answer, whether a retry is pending': [
    'the record shows exactly the bytes that were sent, and their digest',
    'the record holds status, headers in their order, and the body',
    'a retry is pending, and the record says when',
  ],
  // Errors
  '401 when the credential is missing, malformed, no live private key, or of no account': [
    REFUSED,
    'base64 without its padding is malformed',
    'a sandbox key is refused on API v2',
  ],
  'its body is JSON with the one field message, which is Unauthenticated.': [REFUSED],
  '403 for an access token without the scope': [SCOPES],
  '403 for an inactive account or an unverified identity': [
    'the account of %s is authenticated but not permitted',
  ],
};

test('each documented statement has tests of the names that it gives', () => {
  const files = readdirSync(__dirname).filter(
    (name) => name.endsWith('.test.ts') && name !== 'documented.test.ts',
  );
  const tests = [...files, '../cli/bin.test.ts']
    .map((name) => readFileSync(join(__dirname, name), 'utf8'))
    .join('\n');
  const names = Object.values(TESTS_OF).flat();
  expect(names.filter((name) => !tests.includes(`'${name}'`))).toEqual([]);
});

test('the options for what the simulator chose exist', () => {
  const page = readFileSync(join(__dirname, '../../../docs/what-is-documented.md'), 'utf8');
  const [, table = ''] = page.split("\n## Not documented, and the simulator's choice\n");
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2);
  expect(rows.length).toBeGreaterThan(20);
  const options = rows.flatMap((row) => [...(row.split(' | ')[2] ?? '').matchAll(/`([^`]+)`/g)]);
  expect(options.length).toBeGreaterThan(3);
  expect(
    options.map(([, name = '']) => name).filter((name) => !SIMULATOR_OPTIONS.names.includes(name)),
  ).toEqual([]);
});
