// The examples queue-rabbitmq and queue-nats, as their READMEs tell a person to start them.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { BROKERS, ownBroker } from '../setup/own-broker.js';
import { needing } from '../setup/platform.js';
import { followReadme, type Session } from '../setup/readme.js';
import { ROOT, type Running, startUntil } from '../setup/shell.js';
import { until } from '../setup/waiting.js';

for (const name of ['rabbitmq', 'nats'] as const) {
  needing(BROKERS[name].program, 'postgres', 'curl').describe(
    `the example queue-${name} by its README`,
    () => {
      const broker = ownBroker(name, 'pri_example');
      let session: Session;
      let worker: Running | undefined;
      beforeAll(async () => {
        session = await followReadme(`queue-${name}`);
      }, 120_000);
      afterAll(async () => {
        await worker?.stop();
        await session?.end();
      }, 60_000);

      test('takes an event while no worker runs, and works on it when one does', async () => {
        const [send, work] = session.commands;
        expect(await session.type(send?.script ?? '')).toBe(send?.shown);
        expect(await broker.orders()).toEqual([]);
        const folder = join(ROOT, `examples/queue-${name}`);
        worker = await startUntil('Working on the events', work?.script ?? '', {}, folder);
        await until(async () => (await broker.orders()).length > 0);
        expect(await broker.orders()).toEqual(['order-1042']);
      }, 120_000);
    },
  );
}
