import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../setup/ports.js';
import { commandsOf } from '../setup/readme.js';
import { ROOT, type Running, shell, startUntil } from '../setup/shell.js';

const FOLDER = join(ROOT, 'examples/ci');
const [, startApp, startSimulator, triggerIt, checkIt] = commandsOf(join(FOLDER, 'README.md'));

let ports: { app: number; simulator: number };
let env: Record<string, string>;
const running: Running[] = [];

/** The commands of the README, on free ports, with the program from the sources. */
const typed = (command: { script: string } | undefined) =>
  (command?.script ?? '')
    .replace('npx payment-webhooks simulate', `npx payment-webhooks simulate --port ${ports.simulator}`)
    .replace('npx payment-webhooks', 'npx tsx ../../src/cli.ts')
    .replaceAll('3000', String(ports.app));

beforeAll(async () => {
  ports = { app: await freePort(), simulator: await freePort() };
  env = {
    PORT: String(ports.app),
    APP_URL: `http://127.0.0.1:${ports.app}`,
    SERVICE_SIM_URL: `http://127.0.0.1:${ports.simulator}`,
  };
  running.push(await startUntil('Listening on http', typed(startApp), env, FOLDER));
  running.push(await startUntil('More keys and tokens', typed(startSimulator), env, FOLDER));
}, 90_000);

afterAll(() => Promise.all(running.map((one) => one.stop())));

describe('the pipeline of the README', () => {
  test('passes: the event is delivered, and its order paid', async () => {
    expect(await shell(typed(triggerIt), { env, cwd: FOLDER })).toMatchObject({ code: 0 });
    const { code, stdout } = await shell(typed(checkIt), { env, cwd: FOLDER });
    expect({ code, stdout: stdout.trim() }).toEqual({ code: 0, stdout: checkIt?.shown });
  }, 90_000);

  test('fails, and says why, when the app is gone', async () => {
    await running[0]?.stop();
    const [byCommand, byScript] = await Promise.all([
      shell(typed(triggerIt), { env, cwd: FOLDER }),
      shell(typed(checkIt), { env, cwd: FOLDER }),
    ]);
    expect(byCommand.code).toBe(1);
    expect(byCommand.stderr).toContain('Nothing listens at this address.');
    expect(byScript.code).toBe(1);
    expect(byScript.stdout).toContain('The payment was not delivered. Nothing listens at this address.');
  }, 90_000);
});
