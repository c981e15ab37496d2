// What a program holds of a running simulator: its addresses and keys, and everything that can be done with it.
import type { RequestListener } from 'node:http';
import { ConfigurationError } from '../errors.js';
import { Attachments } from './attachments.js';
import type { Delivery } from './delivery.js';
import type { FaultKind } from './fault-kinds.js';
import { type Fault, type FaultRule, refuseFault } from './faults.js';
import { type DeliveryFilter, deliveryFilter, Wait, type WaitFilter, waitFilter } from './filter.js';
import { granted, grantedNow } from './granted.js';
import { type Webhook, webhookView } from './registrations.js';
import { DEVELOPER } from './seeds.js';
import type { Service } from './service.js';
import { pauseOf } from './timetable.js';
import { type Overrides, readTrigger, type TriggerOptions } from './trigger.js';

/** Where a simulator answers, and how it is stopped. */
export interface Port {
  readonly baseUrl: string;
  readonly close: () => Promise<void>;
}

const WAIT_MS = 10_000;

/** A running simulator. */
export class Simulator {
  /** The service's address: what `{base_url}` stands for in its documentation. */
  readonly baseUrl: string;
  /** The page, for people. */
  readonly dashboardUrl: string;
  readonly #service: Service;
  readonly #port: Port;
  readonly #attachments: Attachments;
  #closing: Promise<void> | undefined;

  /** Use `startSimulator()`. @internal */
  constructor(service: Service, port: Port) {
    this.#service = service;
    this.#port = port;
    this.#attachments = new Attachments(service.registrations);
    this.baseUrl = port.baseUrl;
    this.dashboardUrl = `${port.baseUrl}/`;
  }

  /** The developer account's live key: it authenticates on `/api/v2`, and signs every delivery. */
  get privateKey(): string {
    return this.#service.keyring.current.privateKey;
  }

  /** The developer account's sandbox key: it authenticates on `/sandbox/api/v2`. */
  get sandboxKey(): string {
    return this.#service.keyring.current.sandboxKey;
  }

  /** The webhooks of the developer account. */
  readonly webhooks = {
    list: (): Webhook[] => this.#service.ledger.webhooksOf(DEVELOPER).map(webhookView),
    create: async (fields: { readonly url: string; readonly events?: readonly string[] }): Promise<Webhook> =>
      webhookView(await granted(() => this.#service.registrations.create(DEVELOPER, fields))),
    update: async (
      id: string,
      changes: { readonly url?: string; readonly events?: readonly string[]; readonly paused?: boolean },
    ): Promise<Webhook> =>
      webhookView(await granted(() => this.#service.registrations.update(DEVELOPER, id, changes))),
    delete: async (id: string): Promise<void> =>
      granted(async () => this.#service.registrations.delete(DEVELOPER, id)),
  };

  /** Deliberate faults, each for one attempt unless it says otherwise. */
  readonly faults = {
    add: (rule: FaultRule): Fault => {
      refuseFault(rule);
      return this.#service.faults.add(rule);
    },
    once: (kind: FaultKind, rule: Omit<FaultRule, 'kind' | 'times'> = {}): Fault =>
      this.faults.add({ ...rule, kind, times: 1 }),
    always: (kind: FaultKind, rule: Omit<FaultRule, 'kind' | 'times'> = {}): Fault =>
      this.faults.add({ ...rule, kind, times: 'always' }),
    list: (): Fault[] => this.#service.faults.list(),
    clear: (): void => this.#service.faults.clear(),
  };

  /**
   * Has an event happen. Resolves when the first attempt of every delivery is settled, or postponed by a fault.
   *
   * @param overrides what differs from the sample event, as deep as it goes
   * @example
   * const [delivery] = await service.trigger('transaction.paid', { payload: { transaction: { amount: '12.50' } } });
   */
  async trigger<const Name extends string>(
    name: Name,
    overrides: Overrides<Name> = {} as Overrides<Name>,
    { count, fault }: TriggerOptions = {},
  ): Promise<Delivery[]> {
    const { courier } = this.#service;
    const { deliveries } = await granted(async () =>
      this.#service.happen(readTrigger({ event_name: name, overrides, count, fault })),
    );
    await this.#service.saved();
    await Promise.all(deliveries.map((delivery) => courier.send(delivery)));
    return deliveries.map((delivery) => delivery.record());
  }

  /** The recorded deliveries that match, oldest first. */
  deliveries(filter: DeliveryFilter = {}): Delivery[] {
    const matches = grantedNow(() => deliveryFilter(filter));
    const found = [...this.#service.ledger.deliveries.values()].filter(matches);
    return found.map((delivery) => delivery.record());
  }

  /**
   * The first delivery that matches and is finished, or has the given status or attempt, once there is one.
   *
   * @throws when there is none within `timeout` milliseconds of real time
   */
  async waitForDelivery(
    filter: WaitFilter = {},
    { timeout = WAIT_MS }: { readonly timeout?: number } = {},
  ): Promise<Delivery> {
    const found = await new Wait(
      this.#service.ledger,
      grantedNow(() => waitFilter(filter)),
      timeout,
    ).found;
    if (found) return found.record();
    const states = this.deliveries().map(({ event_name, status }) => `${event_name} is ${status}`);
    throw new Error(
      `No delivery matched within ${timeout} ms. ${states.length > 0 ? `There are: ${states.slice(-5).join(', ')}.` : 'There is none at all.'}`,
    );
  }

  /** Sends the same bytes once more, as a new attempt of the delivery. Resolves when it is settled. */
  async resend(id: string): Promise<Delivery> {
    const { ledger, courier } = this.#service;
    const delivery = ledger.deliveries.get(id);
    if (!delivery) throw new ConfigurationError(`There is no delivery with the id ${JSON.stringify(id)}.`);
    if (!ledger.webhooks.has(delivery.webhookId)) {
      throw new ConfigurationError(
        'The webhook of this delivery was deleted, so there is nowhere to send it.',
      );
    }
    await courier.resend(delivery);
    return delivery.record();
  }

  /** Moves the manual clock by milliseconds or text like `"5m"`; resolves when every attempt that fell due is settled. */
  async advance(duration: number | string): Promise<void> {
    await this.#service.advance(pauseOf(duration));
  }

  /** Resolves when no attempt is under way. Deliveries that wait for their time are not waited for. */
  async settled(): Promise<void> {
    await this.#service.courier.settled();
  }

  /** From now on this key authenticates and signs, and the one before does neither. */
  rotateKey(keys: { readonly privateKey?: string; readonly sandboxKey?: string }): void {
    this.#service.rotateKeys(keys);
  }

  /**
   * Listens for an app on a free port and registers it. `close()` closes it, and `reset()` registers it again.
   *
   * @param app an Express app, or any `(request, response)` function
   */
  async attach(
    app: RequestListener,
    path = '/',
    { events }: { readonly events?: readonly string[] } = {},
  ): Promise<Webhook> {
    return granted(() => this.#attachments.add(app, path, events));
  }

  /** Forgets webhooks, deliveries, faults and rotated keys. Attached apps stay, registered anew. */
  async reset(): Promise<void> {
    await this.#service.reset();
    await this.#attachments.registerAgain();
    await this.#service.saved();
  }

  /** Breaks off what is under way and frees everything; with a state file, a new simulator goes on from here. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#port.close();
    await this.#service.close();
    await this.#attachments.close();
  }
}
