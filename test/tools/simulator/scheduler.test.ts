// Which deliveries a scheduler makes due, when, and in which order.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Scheduler } from '../../../src/tools/simulator/delivery/scheduler.js';
import {
  newDelivery,
  type SimulatedDelivery,
} from '../../../src/tools/simulator/delivery/simulated-delivery.js';

const event = { id: 'e-1', name: 'transaction.paid', sandbox: false, body: Buffer.from('{}') };

function delivery(id: string): SimulatedDelivery {
  return newDelivery({ event, id, webhookId: 'w-1', url: 'http://127.0.0.1:1/', createdAt: 0 });
}

test('a manual clock makes each delivery due once, at its time, whatever is scheduled and removed', async () => {
  const step = fc.tuple(
    fc.constantFrom('schedule', 'remove', 'advance'),
    fc.nat(5),
    fc.integer({ min: 1, max: 9 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const all = [...'012345'].map(delivery);
      const scheduler = new Scheduler(0);
      const due: [id: string, at: number][] = [];
      scheduler.onDue = async ({ id }) => void due.push([id, scheduler.now()]);
      const waiting = new Map<string, number>();
      for (const [verb, which, ms] of steps) {
        const one = all[which] as SimulatedDelivery;
        due.splice(0);
        if (verb === 'schedule') {
          scheduler.schedule(one, ms);
          waiting.set(one.id, scheduler.now() + ms);
        } else if (verb === 'remove') {
          scheduler.remove(one);
          waiting.delete(one.id);
        } else {
          await scheduler.advance(ms);
        }
        const expected = [...waiting].filter(([, at]) => at <= scheduler.now());
        for (const [id] of expected) waiting.delete(id);
        expect(due.map(([, at]) => at)).toEqual(due.map(([, at]) => at).sort((a, b) => a - b));
        expect([...due].sort()).toEqual(expected.sort());
      }
    }),
  );
});

test('the real clock makes the earliest due first, and nothing that was removed', async () => {
  const [late, early] = [delivery('late'), delivery('early')];
  const [removed, again] = [delivery('removed'), delivery('again')];
  const scheduler = new Scheduler();
  const due: string[] = [];
  await new Promise<void>((resolve) => {
    scheduler.onDue = async ({ id }) => {
      due.push(id);
      if (id === 'late') resolve();
    };
    scheduler.schedule(late, 60);
    scheduler.schedule(early, 20);
    scheduler.schedule(removed, 20);
    scheduler.remove(removed);
    // A new time replaces the old one.
    scheduler.schedule(again, 1);
    scheduler.schedule(again, 40);
  });
  expect(due).toEqual(['early', 'again', 'late']);
});

test('what a state file says was due long ago comes first, in the order of its times', async () => {
  const saved = ['3000', '1000', '2000'].map(delivery);
  for (const one of saved) one.nextAttemptAt = Number(one.id);
  const scheduler = new Scheduler();
  const due: string[] = [];
  await new Promise<void>((resolve) => {
    scheduler.onDue = async ({ id }) => void (due.push(id) === 3 && resolve());
    scheduler.resume(saved);
  });
  expect(due).toEqual(['1000', '2000', '3000']);
});
