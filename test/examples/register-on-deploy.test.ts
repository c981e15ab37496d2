import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Simulator, startSimulator } from 'payment-webhooks/simulator';
import { afterwards, listening } from '../setup/afterwards.js';
import { ROOT, tsx } from '../setup/shell.js';

const FOLDER = join(ROOT, 'examples/register-on-deploy');

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, allowTargets: ['shop.example'] });
});
afterAll(() => simulator.close());

describe('the deploy', () => {
  test('registers the app, and the next payment reaches its handler', async () => {
    process.env.SERVICE_API_URL = simulator.baseUrl;
    process.env.SERVICE_PRIVATE_KEY = simulator.privateKey;
    const { app } = await import('../../examples/register-on-deploy/app.js');
    const { paid } = await import('../../examples/register-on-deploy/hooks.js');
    const { register } = await import('../../examples/register-on-deploy/register.js');
    const publicUrl = `http://127.0.0.1:${await listening(app)}`;
    afterwards(() => simulator.reset());
    expect(await register(publicUrl)).toBe(`created: ${publicUrl}/hooks gets transaction.paid`);
    expect(await register(publicUrl)).toBe(`unchanged: ${publicUrl}/hooks gets transaction.paid`);
    await simulator.trigger('transaction.paid', { payload: { transaction: { order_id: 'order-7' } } });
    expect([...paid]).toEqual(['order-7']);
  });

  test('ends with exit code 1 and the reason, and without the key, when the service refuses', async () => {
    const env = {
      SERVICE_API_URL: simulator.baseUrl,
      SERVICE_PRIVATE_KEY: 'pri_c4nary',
      PUBLIC_URL: 'https://shop.example',
    };
    const { code, stdout, stderr } = await tsx([join(FOLDER, 'register.ts')], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('The webhook could not be registered. UNAUTHENTICATED: ');
    expect(stderr).not.toContain('c4nary');
  }, 90_000);
});
