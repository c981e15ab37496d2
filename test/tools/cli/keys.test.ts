import { expect, test } from '@jest/globals';
import express from 'express';
import { receiver } from 'payment-webhooks';
import { refusingPort } from '../../setup/ports.js';
import { afterwards, simulator } from '../simulator/world.js';
import { runCli } from './run-cli.js';

test('keys rotate prints the new key once, and the old one no longer works', async () => {
  const service = await simulator({ clock: 'real', retry: 'off' });
  const hooks = receiver({ privateKey: service.privateKey, logger: false });
  afterwards(() => hooks.close());
  await service.attach(express().post('/hooks', hooks), '/hooks');
  const env = { SERVICE_SIM_URL: service.baseUrl };
  expect((await runCli(['account'], { env })).code).toBe(0);

  const { code, stdout, stderr } = await runCli(['keys', 'rotate'], { env });
  expect(code).toBe(0);
  expect(stdout).toBe(`SERVICE_PRIVATE_KEY=${service.privateKey}\n`);
  expect(service.privateKey).toMatch(/^pri_sim_[0-9a-f]{32}$/);
  expect(stderr).toContain('Start your app with the new one, or with both.');
  expect(stderr).not.toContain(service.privateKey);

  const refused = await runCli(['account'], { env });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('401') });
  const withKey = { env: { ...env, SERVICE_PRIVATE_KEY: service.privateKey } };
  expect((await runCli(['account'], withKey)).code).toBe(0);

  const triggered = await runCli(['trigger', 'transaction.paid', '--wait'], { env });
  expect(triggered.code).toBe(1);
  expect(triggered.stderr).toContain('it may still have only the old one. Configure both keys.');
});

test('keys rotate --json prints one object, and nothing else', async () => {
  const service = await simulator({ clock: 'real' });
  const env = { SERVICE_SIM_URL: service.baseUrl };
  const { stdout, stderr } = await runCli(['keys', 'rotate', '--json'], { env });
  expect(JSON.parse(stdout)).toEqual({ private_key: service.privateKey });
  expect(stderr).toBe('');
});

test('keys rotate says how to start a simulator when none runs', async () => {
  const env = { SERVICE_SIM_URL: `http://127.0.0.1:${await refusingPort()}` };
  const { code, stderr } = await runCli(['keys', 'rotate'], { env });
  expect(code).toBe(3);
  expect(stderr).toContain('Start one with `payment-webhooks simulate`');
});
