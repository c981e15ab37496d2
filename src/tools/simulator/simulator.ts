// Starts the simulator, and the class by which a program controls it.
import type { RequestListener, Server } from 'node:http';
import { types } from 'node:util';
import { ConfigurationError } from '../../errors.js';
import { writeLog } from '../../logger.js';
import { show } from '../../misuse.js';
import { MAX_TIMER_MS } from '../../time.js';
import { HttpError } from '../web/http-error.js';
import { isLocalHost } from './address/host.js';
import {
  type DeliveryFilter,
  deliveryFilter,
  type WaitFilter,
  waitForDelivery,
} from './api/delivery-filter.js';
import { type Webhook, webhookView } from './api/registrations.js';
import { changeStream } from './api/stream.js';
import { type Delivery, deliveryRecord } from './delivery/delivery-record.js';
import type { Fault, FaultKind, FaultRule } from './delivery/faults.js';
import { milliseconds } from './delivery/retry-schedule.js';
import { closeServer, listen, urlHost } from './listen.js';
import { DEVELOPER } from './seeds.js';
import { type FirstHandler, openService, type Service } from './service.js';
import { type Capture, resolveSettings, type SimulatorOptions } from './settings.js';
import type { Overrides, TriggerOptions } from './trigger.js';

/** A running simulator. */
export class Simulator {
  /** The base URL of the simulated service: `{base_url}` in its documentation. */
  readonly baseUrl: string;
  /** The URL of the page. */
  readonly dashboardUrl: string;
  readonly #service: Service;
  readonly #closePort: () => Promise<void>;
  readonly #attached: { server: Server; input: { url: string; events?: readonly string[] } }[] = [];
  #closing: Promise<void> | undefined;

  /** Use `startSimulator()`. @internal */
  constructor(service: Service, closePort: () => Promise<void>) {
    this.#service = service;
    this.#closePort = closePort;
    this.baseUrl = service.baseUrl;
    this.dashboardUrl = `${service.baseUrl}/`;
  }

  /** The developer account's live key: it authenticates on `/api/v2`, and signs every delivery. */
  get privateKey(): string {
    return this.#service.accounts.current.privateKey;
  }

  /** The developer account's sandbox key: it authenticates on `/sandbox/api/v2`. */
  get sandboxKey(): string {
    return this.#service.accounts.current.sandboxKey;
  }

  /** The webhooks of the developer account. */
  readonly webhooks = {
    list: (): Webhook[] => this.#service.store.webhooksOf(DEVELOPER).map(webhookView),
    create: async (fields: { readonly url: string; readonly events?: readonly string[] }): Promise<Webhook> =>
      webhookView(await forProgram(() => this.#service.registrations.create(DEVELOPER, fields))),
    update: async (
      id: string,
      changes: { readonly url?: string; readonly events?: readonly string[]; readonly paused?: boolean },
    ): Promise<Webhook> =>
      webhookView(await forProgram(() => this.#service.registrations.update(DEVELOPER, id, changes))),
    delete: async (id: string): Promise<void> =>
      forProgram(() => this.#service.registrations.delete(DEVELOPER, id)),
  };

  /** The active faults. `once` and `always` are shorthands for `add`. */
  readonly faults = {
    add: (rule: FaultRule): Fault => forProgram(() => this.#service.faults.add(rule)),
    once: (kind: FaultKind, rule: Omit<FaultRule, 'kind' | 'times'> = {}): Fault =>
      this.faults.add({ ...rule, kind, times: 1 }),
    always: (kind: FaultKind, rule: Omit<FaultRule, 'kind' | 'times'> = {}): Fault =>
      this.faults.add({ ...rule, kind, times: 'always' }),
    list: (): Fault[] => this.#service.faults.list(),
    clear: (): void => this.#service.faults.clear(),
  };

  /**
   * Triggers an event. Resolves when the first attempt of every delivery is settled, or postponed by a fault.
   *
   * @param overrides changes that are deep-merged into the sample event
   * @example
   * const [delivery] = await service.trigger('transaction.paid', { payload: { transaction: { amount: '12.50' } } });
   */
  async trigger<const Name extends string>(
    name: Name,
    overrides: Overrides<Name> = {} as Overrides<Name>,
    { count, fault, signatureHeader }: TriggerOptions = {},
  ): Promise<Delivery[]> {
    const fields = { event_name: name, overrides, count, fault, signature_header: signatureHeader };
    const { deliveries } = forProgram(() => this.#service.trigger(fields));
    await this.#service.saved();
    await Promise.all(deliveries.map((delivery) => this.#service.deliverer.deliver(delivery, 'due')));
    return deliveries.map(deliveryRecord);
  }

  /** The recorded deliveries that match, oldest first. */
  deliveries(filter: DeliveryFilter = {}): Delivery[] {
    const matches = forProgram(() => deliveryFilter(filter));
    return this.#service.store.allDeliveries().filter(matches).map(deliveryRecord);
  }

  /**
   * The first delivery that matches, now or later. Without `status` and `attempt`, only finished deliveries match.
   *
   * @throws {Error} if none matches within `timeout` milliseconds of real time
   */
  async waitForDelivery(
    filter: WaitFilter = {},
    { timeout = 10_000 }: { readonly timeout?: number } = {},
  ): Promise<Delivery> {
    if (typeof timeout !== 'number' || !(timeout >= 0 && timeout <= MAX_TIMER_MS)) {
      throw new ConfigurationError(
        `timeout is ${show(timeout)}. Pass milliseconds, at most ${MAX_TIMER_MS} (24 days).`,
      );
    }
    const { store } = this.#service;
    const found = await forProgram(() => waitForDelivery(store, filter, timeout));
    if (found) return deliveryRecord(found);
    const latest = store.allDeliveries().slice(-5);
    const states = latest.map(({ event, status }) => `${event.name} is ${status}`).join(', ') || 'none';
    throw new Error(`No delivery matched within ${timeout} ms. The latest deliveries: ${states}.`);
  }

  /** Sends the same bytes again, as a new attempt of the delivery. Resolves when it is settled. */
  async resend(id: string): Promise<Delivery> {
    const delivery = forProgram(() => this.#service.resendable(id));
    await this.#service.deliverer.deliver(delivery, 'resend');
    return deliveryRecord(delivery);
  }

  /** Advances the manual clock by milliseconds or a duration such as `"5m"`. Resolves when every attempt that is due by then is settled. */
  async advance(duration: number | string): Promise<void> {
    await this.#service.advance(milliseconds('advance() got', duration));
  }

  /** Resolves when no attempt is in flight. Does not wait for scheduled ones. */
  async settled(): Promise<void> {
    await this.#service.deliverer.settled();
  }

  /** Replaces the keys: from now on only the new ones authenticate and sign. */
  rotateKey(keys: { readonly privateKey?: string; readonly sandboxKey?: string }): void {
    this.#service.rotateKeys(keys);
  }

  /**
   * Serves an app on a free port and registers it. `close()` stops the server, and `reset()` registers it again.
   *
   * @param app an Express app, or any `(request, response)` function
   */
  async attach(
    app: RequestListener,
    path = '/',
    { events }: { readonly events?: readonly string[] } = {},
  ): Promise<Webhook> {
    if (typeof app !== 'function') {
      throw new ConfigurationError(
        `app is ${show(app)}. Pass an Express app or a function (request, response), or register the URL of a server with webhooks.create().`,
      );
    }
    const { server, port } = await listen(app, { host: '127.0.0.1', port: 0 });
    const input = { url: `http://127.0.0.1:${port}${path}`, ...(events ? { events } : {}) };
    try {
      const webhook = await this.webhooks.create(input);
      this.#attached.push({ server, input });
      return webhook;
    } catch (error) {
      await closeServer(server);
      throw error;
    }
  }

  /** Deletes webhooks, deliveries and faults, and restores the original keys. Attached apps are registered again. */
  async reset(): Promise<void> {
    await this.#service.reset();
    for (const { input } of this.#attached) await this.#service.registrations.create(DEVELOPER, input);
    await this.#service.saved();
  }

  /** Aborts the attempts in flight and closes every port. With a state file, the next simulator continues from here. */
  close(): Promise<void> {
    this.#closing ??= this.#closePort()
      .then(() => this.#service.close())
      .then(() => Promise.all(this.#attached.splice(0).map(({ server }) => closeServer(server))))
      .then(() => {});
    return this.#closing;
  }
}

/** Calls the service, and turns an `HttpError` into a `ConfigurationError`. */
function forProgram<Value>(work: () => Value): Value {
  const fail = (error: unknown): never => {
    throw error instanceof HttpError ? new ConfigurationError(error.message) : error;
  };
  try {
    const result = work();
    return types.isPromise(result) ? (result.catch(fail) as Value) : result;
  } catch (error) {
    return fail(error);
  }
}

/**
 * Starts the simulated service: its API, signed deliveries with retries, faults, and a record of every attempt.
 *
 * @throws {ConfigurationError} for an invalid option, a port in use, an unusable state file, or if Express is not installed
 * @example
 * const service = await startSimulator({ port: 0 });
 * await service.attach(app, '/hooks');
 * const [delivery] = await service.trigger('transaction.paid');
 * await service.close();
 */
export function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  return serve(options);
}

/** @param capture what makes it `capture` @param first handles requests before everything else */
export async function serve(
  options: SimulatorOptions,
  { capture, first }: { capture?: Capture; first?: FirstHandler } = {},
): Promise<Simulator> {
  const settings = { ...resolveSettings(options), ...(capture && { capture }) };
  const { simulatorApp } = await importApp();
  // Before the port is opened: requests need the state file.
  const service = await openService(settings);
  try {
    const { host, logger } = settings;
    const isLocal = isLocalHost(host);
    const stream = changeStream(service);
    const { server, port } = await listen(simulatorApp(service, stream, first), settings);
    service.baseUrl = `http://${urlHost(host)}:${port}`;
    service.targets.own = { port, everywhere: !isLocal };
    if (!isLocal) writeLog(logger, 'warn', { host }, 'the simulator can be reached from other machines');
    // Last, so that a failed start sends nothing.
    service.resume();
    return new Simulator(service, async () => {
      stream.close();
      await closeServer(server);
    });
  } catch (error) {
    await service.close();
    throw error;
  }
}

/** Imported lazily: everything except starting a simulator works without Express. */
function importApp() {
  return import('./simulator-app.js').catch((error: Error) => {
    if (!/Cannot find (module|package) 'express'/.test(error.message)) throw error;
    throw new ConfigurationError('The simulator needs Express. Run npm install express.');
  });
}
