// Waits until a delivery is finished, or until one more attempt of it is settled.
import type { Delivery } from '../simulator.js';
import { CommandError, EXIT, text } from './command.js';
import { ControlError, type ControlPlane } from './control-plane.js';
import { duration } from './flag-values.js';

export const timeoutOption = text({ TIME: '30s' }, 'How long to wait in total. Default: 2m.');

// Short enough to notice soon that the simulator dropped a delivery.
const SLICE_MS = 5_000;

/** How long a command waits in total. */
export class WaitLimit {
  readonly #text: string;
  readonly #endsAt: number;

  constructor(timeout = '2m') {
    this.#text = timeout;
    this.#endsAt = performance.now() + duration('--timeout', timeout);
  }

  /** Milliseconds for the next request. @throws {CommandError} when the time is over */
  slice(): number {
    const left = Math.ceil(this.#endsAt - performance.now());
    if (left > 0) return Math.min(left, SLICE_MS);
    throw new CommandError(
      `Not finished after ${this.#text}. \`payment-webhooks deliveries list\` shows the state.`,
      EXIT.timedOut,
      'TIMED_OUT',
    );
  }
}

/** @param attempt wait until this one is settled, instead of until the delivery is finished */
export async function waitForDelivery(
  control: ControlPlane,
  { id, attempt }: { readonly id: string; readonly attempt?: number },
  limit: WaitLimit,
): Promise<Delivery> {
  for (;;) {
    const ms = limit.slice();
    const query = { id, timeout: `${ms}ms`, attempt: attempt?.toString() };
    try {
      return (await control.get<{ data: Delivery }>('/wait', query, ms)).data;
    } catch (error) {
      if (!(error instanceof ControlError) || error.status !== 408) throw error;
      await control.get(`/deliveries/${encodeURIComponent(id)}`).catch(explainDropped);
    }
  }
}

function explainDropped(error: unknown): never {
  if (!(error instanceof ControlError) || error.status !== 404) throw error;
  const message =
    'A delivery is finished and already dropped: the simulator keeps the last 500. Wait for fewer events.';
  throw new CommandError(message, EXIT.failed, 'FORGOTTEN');
}
