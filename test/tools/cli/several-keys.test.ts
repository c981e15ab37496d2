// Several keys in SERVICE_PRIVATE_KEY, as during a rotation: commands and the client read what the receiver reads.
import { afterEach, describe, expect, test } from '@jest/globals';
import { ServiceClient } from 'payment-webhooks/client';
import { hmac } from '../../setup/delivery.js';
import { simulator } from '../simulator/world.js';
import { simulate } from './against.js';
import { failed, jsonLines, runCli } from './run-cli.js';

const [NEW, OLD] = ['pri_3e6d9b2c', 'pri_9b1d4f0a'];
const environment = { ...process.env };
afterEach(() => {
  process.env = { ...environment };
});

describe.each([`${NEW},${OLD}`, `${NEW}\n${OLD}\n`])('with %j', (SERVICE_PRIVATE_KEY) => {
  const env = { SERVICE_PRIVATE_KEY };

  test('verify tries all, and says which', async () => {
    const run = await runCli(['verify', '--json', '--signature', hmac('{}', OLD), '--body', '{}'], { env });
    expect(jsonLines(run)).toEqual([{ valid: true, keyIndex: 1 }]);
  });

  test('sign takes the first', async () => {
    expect((await runCli(['sign', '--body', '{}'], { env })).stdout).toBe(`${hmac('{}', NEW)}\n`);
  });
});

test('the client and the commands of the account send the first', async () => {
  const service = await simulator();
  const [baseUrl, SERVICE_PRIVATE_KEY] = [service.baseUrl, `${service.privateKey},pri_sim_old`];
  process.env.SERVICE_PRIVATE_KEY = SERVICE_PRIVATE_KEY;
  expect(await new ServiceClient({ baseUrl }).account.me()).toHaveProperty('id');
  const run = await runCli(['account', '--url', baseUrl], { env: { SERVICE_PRIVATE_KEY } });
  expect(run).toMatchObject({ code: 0, stderr: '' });
});

test('simulate takes a live and a sandbox key, and refuses two of a kind', async () => {
  const both = 'pri_sim_one,pri_sandbox_sim_two';
  const { baseUrl } = await simulate([], { SERVICE_PRIVATE_KEY: both });
  const account = await runCli(['account', '--url', baseUrl], { env: { SERVICE_PRIVATE_KEY: both } });
  expect(account.code).toBe(0);
  const two = await runCli(['simulate', '--port', '0'], {
    env: { SERVICE_PRIVATE_KEY: 'pri_sim_a,pri_sim_b' },
  });
  expect(two).toEqual(failed(2, 'SERVICE_PRIVATE_KEY holds several keys of one kind'));
});
