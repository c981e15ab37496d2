// What the simulated service does, without the HTTP server.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { builtInEventNames } from '../../events/event.js';
import { writeLog } from '../../logger.js';
import { HttpError } from '../web/http-error.js';
import type { KeyPair } from './accounts.js';
import { registrations } from './api/registrations.js';
import { Deliverer } from './delivery/deliverer.js';
import { isoTime } from './delivery/delivery-record.js';
import { faultKinds } from './delivery/faults.js';
import { isFinished, type SimulatedDelivery, type SimulatedEvent } from './delivery/simulated-delivery.js';
import { makeParts, type Parts } from './parts.js';
import { readFields } from './read-fields.js';
import type { SimulatorSettings } from './settings.js';
import { restoreState, takeState } from './state/state.js';
import { openStateFile, type StateFile } from './state/state-file.js';
import { createEvents, triggerFields } from './trigger.js';

export type Service = ReturnType<typeof serviceOf>;

/** Handles requests before everything else. Not of Express, whose types a program may lack. */
export type FirstHandler = (
  service: Service,
) => (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void;

/** Restores the state file, and saves every change to it. @throws {ConfigurationError} for an unusable file */
export async function openService(settings: SimulatorSettings): Promise<Service> {
  const { state, logger } = settings;
  const file = state === undefined ? undefined : await openStateFile(state, logger);
  try {
    const parts = makeParts(settings, file?.content?.now);
    if (file?.content) restoreState(file.content, parts);
    await file?.begin(() => takeState(parts));
    if (file) parts.store.watch(() => file.writeSoon());
    return serviceOf(parts, file);
  } catch (error) {
    await file?.close();
    throw error;
  }
}

function serviceOf(parts: Parts, file: StateFile | undefined) {
  const { settings, startedAt, store, accounts, randomness, scheduler, faults } = parts;
  const deliverer = new Deliverer(parts);
  const maxAttempts = settings.retry.length + 1;

  /** @throws {HttpError} for an unknown id */
  const delivery = (id: string): SimulatedDelivery => {
    const known = store.deliveries.get(id);
    if (!known) throw HttpError.unknown('delivery', id);
    return known;
  };

  const rotateKeys = (keys: Partial<Record<keyof KeyPair, unknown>>): void => {
    accounts.rotate(keys);
    store.notify({ kind: 'keys' });
  };

  return {
    ...parts,
    ...{ deliverer, maxAttempts, delivery, rotateKeys },
    registrations: registrations(parts, deliverer),
    baseUrl: '',

    /** Schedules the attempts that were pending when the last process ended, and sends those that are due. */
    resume(): void {
      const unfinished = store.allDeliveries().filter((one) => !isFinished(one));
      scheduler.resume(unfinished.filter(({ nextAttemptAt }) => nextAttemptAt !== null));
      const due = unfinished.filter(({ nextAttemptAt }) => nextAttemptAt === null);
      for (const one of due) void deliverer.deliver(one, 'due');
    },

    /** Records the events and their deliveries; nothing is sent yet. @throws {HttpError} for invalid fields */
    trigger(fields: object): { events: SimulatedEvent[]; deliveries: SimulatedDelivery[] } {
      const trigger = readFields(triggerFields, fields);
      const fault = trigger.fault ?? undefined;
      const events = createEvents(trigger, () => randomness.uuid());
      return { events, deliveries: events.flatMap((event) => deliverer.accept(event, fault)) };
    },

    resendable(id: string): SimulatedDelivery {
      const known = delivery(id);
      if (settings.capture && !settings.capture.forward)
        throw new HttpError(409, 'There is no app to send it to. Start capture with --forward.');
      if (settings.capture || store.webhooks.has(known.webhookId)) return known;
      throw new HttpError(409, 'The webhook of this delivery was deleted, so it cannot be sent again.');
    },

    rotatePrivateKey(): string {
      const privateKey = `pri_sim_${randomness.uuid().replaceAll('-', '')}`;
      rotateKeys({ privateKey });
      const message = 'the private key was rotated, and the old one no longer works';
      writeLog(settings.logger, 'warn', {}, message);
      return privateKey;
    },

    /** Advances the manual clock; resolves when every attempt that is due by then is settled. */
    async advance(ms: number): Promise<void> {
      // Attempts in flight settle before the clock moves.
      await deliverer.settled();
      await scheduler.advance(ms);
      await deliverer.settled();
      store.notify({ kind: 'clock' });
    },

    async reset(): Promise<void> {
      store.clear();
      faults.clear();
      accounts.current = accounts.initial;
      await deliverer.abort();
    },

    /** Resolves when every change is on disk; at once without a state file. */
    saved: (): Promise<void> => file?.saved() ?? Promise.resolve(),

    async close(): Promise<void> {
      await deliverer.close();
      await file?.close();
    },

    /** The settings and the status that the page and the CLI read. */
    describe: () => ({
      ready: true,
      simulator: 'payment-webhooks',
      pid: process.pid,
      started_at: isoTime(startedAt),
      now: isoTime(scheduler.now()),
      clock: settings.clock,
      retry: settings.retry,
      max_attempts: maxAttempts,
      timeout_ms: settings.timeout,
      signature_header: settings.signatureHeader,
      sandbox_signing: settings.sandboxSigning,
      event_names: builtInEventNames,
      fault_kinds: faultKinds,
      capture: settings.capture && { path: settings.capture.path, forward: settings.capture.forward ?? null },
      state: settings.state !== undefined,
      state_error: file?.error ?? null,
    }),
  };
}
