// test/consumers runs the pipeline where it passes; here is one whose app is gone.
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startSimulator } from 'payment-webhooks/simulator';
import { refusingPort } from '../setup/ports.js';
import { commandsOf } from '../setup/readme.js';
import { ROOT, shell } from '../setup/shell.js';

const FOLDER = join(ROOT, 'examples/ci');
const [, , , triggerIt, checkIt] = commandsOf(join(FOLDER, 'README.md'));

test('the pipeline of the README fails, and says why, when the app is gone', async () => {
  const simulator = await startSimulator({ port: 0, clock: 'real', retry: ['1s', '1s', '1s'] });
  const port = String(await refusingPort());
  await simulator.webhooks.create({ url: `http://127.0.0.1:${port}/hooks` });
  const env = { APP_URL: `http://127.0.0.1:${port}`, SERVICE_SIM_URL: simulator.baseUrl };
  /** A command of the README, with the program from the sources. */
  const type = (command = { script: '' }) => {
    const script = command.script.replace('npx payment-webhooks', 'npx tsx ../../src/cli.ts');
    return shell(script.replaceAll('3000', port), { env, cwd: FOLDER });
  };
  try {
    const [byCommand, byScript] = await Promise.all([type(triggerIt), type(checkIt)]);
    expect(byCommand.code).toBe(1);
    expect(byCommand.stderr).toContain('Nothing listens at this address.');
    expect(byScript.code).toBe(1);
    expect(byScript.stdout).toContain('The payment was not delivered. Nothing listens at this address.');
  } finally {
    await simulator.close();
  }
}, 90_000);
