// The delivery that a person means by the beginning of its id.
import type { Delivery } from '../simulator.js';
import { CommandError, EXIT, UsageError } from './command.js';
import { ControlError, type ControlPlane } from './control-plane.js';
import { shortId } from './delivery-text.js';

export const ID_ARGUMENT = { name: 'ID', about: 'the id of the delivery, or its first digits' };

/** @throws {CommandError} when there is none, or more than one */
export async function findDelivery(control: ControlPlane, id: string): Promise<Delivery> {
  if (id === '') throw new UsageError('ID is empty.');
  const asked = control.get<{ data: Delivery }>(`/deliveries/${encodeURIComponent(id)}`);
  return (await asked.catch((error) => byBeginning(control, id, error))).data;
}

async function byBeginning(control: ControlPlane, id: string, error: unknown): Promise<{ data: Delivery }> {
  if (!(error instanceof ControlError) || error.status !== 404) throw error;
  const { data } = await control.get<{ data: Delivery[] }>('/deliveries', { q: id, limit: '1000' });
  const found = data.filter((delivery) => delivery.id.startsWith(id.toLowerCase()));
  const [only] = found;
  if (!only) throw error;
  if (found.length === 1) return { data: only };
  const some = found.slice(0, 5).map((delivery) => shortId(delivery.id));
  throw new CommandError(
    `${found.length} deliveries begin with that: ${some.join(', ')}. Give more digits.`,
    EXIT.failed,
  );
}
