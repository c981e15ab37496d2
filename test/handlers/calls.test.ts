// The call of a handler: when its turn comes, and what the log says when it does not come.
import { describe, expect, test } from '@jest/globals';
import { memoryStore, type ReceiverOptions } from 'payment-webhooks';
import { delivery } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { faultyStore } from '../setup/faulty-store.js';

const processed = { status: 200, body: { received: true, outcome: 'processed' } };
/** All handlers of these tests wait for one another. */
const serial = () => 'one';

const start = (options: ReceiverOptions = {}) =>
  startEndpoint({ handlers: {}, ...options }, { framework: 'node:http' });

/** Nothing else runs in this process meanwhile, no timer either. */
function block(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test('a handler without a name runs, whatever a store says of those that have finished', async () => {
  const finished = [undefined, null, '', '*'] as unknown as string[];
  const endpoint = await start({ store: faultyStore({}, { more: { finished } }) });
  let runs = 0;
  endpoint.hooks.on('*', () => {
    runs += 1;
  });
  expect(await endpoint.post()).toMatchObject(processed);
  expect(runs).toBe(1);
});

describe('a handler that returns no promise', () => {
  test('gives its turn to the next one when it has returned', async () => {
    const ran: string[] = [];
    const endpoint = await start();
    endpoint.hooks
      .on('*', () => void ran.push('pick'), { name: 'pick', serial })
      .on('*', () => void ran.push('pack'), { name: 'pack', serial })
      .on('*', () => void ran.push('mail'), { name: 'mail' });
    expect(await endpoint.post()).toMatchObject(processed);
    expect(ran).toEqual(['pick', 'mail', 'pack']);
  });

  test('and blocks for longer than the lease keeps the next one from its turn, which the log says', async () => {
    const ran: string[] = [];
    const endpoint = await start({ store: memoryStore(), lease: 200 });
    endpoint.hooks
      .on(
        '*',
        () => {
          ran.push('pick');
          block(250);
        },
        { name: 'pick', serial },
      )
      .on('*', () => void ran.push('pack'), { name: 'pack', serial });
    const sent = delivery();
    expect(await endpoint.post(sent)).toMatchObject({ status: 500, body: { code: 'HANDLER_FAILED' } });
    expect(endpoint.log.lines).toContainEqual(
      expect.objectContaining({
        level: 50,
        handler: 'pack',
        msg: expect.stringMatching(/claim was lost before .* turn.* was not run/),
      }),
    );
    // What has finished is remembered, and what was not run is made good by the retry.
    expect(await endpoint.post(sent)).toMatchObject(processed);
    expect(ran).toEqual(['pick', 'pack']);
  });
});
