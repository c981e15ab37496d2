// The two sides of the wire, which share no code, together: what one says the other must understand.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ServiceClient, type ServiceClientOptions } from 'payment-webhooks/client';
import { type Simulator, seeds, startSimulator } from 'payment-webhooks/simulator';
import { runCli } from '../tools/cli/run-cli.js';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator({ port: 0 });
});
afterAll(() => simulator.close());

const url = 'http://127.0.0.1:9/hooks';

describe('the client and the simulator', () => {
  const clientOf = (options: ServiceClientOptions) =>
    new ServiceClient({ baseUrl: simulator.baseUrl, retries: 0, ...options });

  test.each<[string, ServiceClientOptions]>([
    ['a live key', { privateKey: 'pri_sim_dev' }],
    ['a sandbox key at its endpoints', { privateKey: 'pri_sandbox_sim_dev', apiPath: '/sandbox/api/v2' }],
    ['a token', { accessToken: 'sim_token_all' }],
  ])('manage webhooks with %s', async (_, credential) => {
    const { account, webhooks } = clientOf(credential);
    expect(await account.me()).toMatchObject({ id: 'acc_sim_dev', active: true });
    const { action, webhook } = await webhooks.ensure({ url });
    expect({ action, webhook }).toMatchObject({ action: 'created', webhook: { url, events: ['*'] } });
    expect(await webhooks.ensure({ url })).toMatchObject({ action: 'unchanged' });
    const updated = await webhooks.update(webhook.id, { events: ['transaction.paid'] });
    expect(updated.id).toBe(webhook.id);
    expect(await webhooks.list()).toEqual([expect.objectContaining({ events: ['transaction.paid'] })]);
    await webhooks.delete(webhook.id);
    expect(await webhooks.list()).toEqual([]);
    await expect(webhooks.delete(webhook.id)).rejects.toMatchObject({ name: 'NotFoundError' });
    await expect(webhooks.create({ url: 'http://169.254.169.254/' })).rejects.toMatchObject({
      name: 'ValidationError',
      issues: [{ path: 'url', message: expect.any(String) }],
    });
  });

  test('agree on what each seeded credential may do', async () => {
    const keys = seeds.keys.filter(({ sandbox }) => !sandbox).map(({ key }) => ({ privateKey: key }));
    const tokens = seeds.tokens.map(({ token }) => ({ accessToken: token }));
    const attempts = [...keys, ...tokens, { privateKey: 'pri_nobody' }].map(async (credential) => {
      const { webhooks } = clientOf(credential);
      const outcome = (call: Promise<unknown>) =>
        call.then(
          () => 'ok',
          ({ name }) => name,
        );
      const read = await outcome(webhooks.list());
      return [Object.values(credential)[0], read, await outcome(webhooks.delete('nobody'))];
    });
    expect(await Promise.all(attempts)).toEqual([
      ['pri_sim_dev', 'ok', 'NotFoundError'],
      ['pri_sim_inactive', 'PermissionError', 'PermissionError'],
      ['pri_sim_unverified', 'PermissionError', 'PermissionError'],
      ['sim_token_all', 'ok', 'NotFoundError'],
      ['sim_token_read', 'ok', 'PermissionError'],
      ['sim_token_none', 'PermissionError', 'PermissionError'],
      ['pri_nobody', 'AuthenticationError', 'AuthenticationError'],
    ]);
  });

  test('ensure leaves one webhook, however many deploys run it at once', async () => {
    const { webhooks } = clientOf({ privateKey: 'pri_sim_dev' });
    await Promise.all(Array.from({ length: 5 }, () => webhooks.ensure({ url })));
    expect(await webhooks.list()).toHaveLength(1);
    await Promise.all((await webhooks.list()).map(({ id }) => webhooks.delete(id)));
  });
});

test('the command line finds the simulator by SERVICE_SIM_URL, without a key', async () => {
  const env = { SERVICE_SIM_URL: simulator.baseUrl };
  expect((await runCli(['account'], { env })).stdout).toContain('id                 acc_sim_dev');
  expect((await runCli(['webhooks', 'ensure', url], { env })).stdout).toMatch(/^created {2}/);
  expect((await runCli(['webhooks', 'list'], { env })).stdout).toContain(url);
});
