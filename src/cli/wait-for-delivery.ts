// Waits until deliveries are finished, or another attempt of one is settled.
import { parseDuration } from '../duration.js';
import type { Delivery } from '../simulator.js';
import { CommandError, EXIT, UsageError } from './command.js';
import { ControlError, type ControlPlane } from './control-plane.js';

export const timeoutOption = {
  type: 'string',
  value: 'TIME',
  about: 'How long to wait in all; 2m unless given.',
} as const;

// Short enough to notice that the simulator has forgotten a delivery, which nobody is told of.
const SLICE_MS = 5_000;

/** How long a command goes on waiting. */
export class Patience {
  readonly #text: string;
  readonly #endsAt: number;

  constructor(timeout = '2m') {
    const ms = parseDuration(timeout);
    if (!ms) throw new UsageError('--timeout is no time: give one like 30s.');
    this.#text = timeout;
    this.#endsAt = performance.now() + ms;
  }

  /** Milliseconds for the next question. @throws {CommandError} when the time is over */
  slice(): number {
    const left = Math.ceil(this.#endsAt - performance.now());
    if (left > 0) return Math.min(left, SLICE_MS);
    throw new CommandError(
      `Not finished after ${this.#text}. \`payment-webhooks deliveries list\` shows how far it is.`,
      EXIT.timedOut,
      'TIMED_OUT',
    );
  }
}

/** @param attempt wait until this one is settled, instead of until the delivery is finished */
export async function waitForDelivery(
  control: ControlPlane,
  { id, attempt }: { readonly id: string; readonly attempt?: number },
  patience: Patience,
): Promise<Delivery> {
  for (;;) {
    const ms = patience.slice();
    const query = { id, timeout: `${ms}ms`, attempt: attempt?.toString() };
    try {
      return (await control.get<{ data: Delivery }>('/wait', query, ms)).data;
    } catch (error) {
      if (!(error instanceof ControlError) || error.status !== 408) throw error;
      await control.get(`/deliveries/${encodeURIComponent(id)}`).catch(explainForgotten);
    }
  }
}

function explainForgotten(error: unknown): never {
  if (!(error instanceof ControlError) || error.status !== 404) throw error;
  const message =
    'A delivery is finished and forgotten by now: the simulator keeps the last 500. Wait for fewer.';
  throw new CommandError(message, EXIT.failed, 'FORGOTTEN');
}
