// `deliveries …`: what the simulator has recorded, and sending it again.
import type { Attempt, Delivery } from '../simulator.js';
import { CommandError, command, EXIT, UsageError } from './command.js';
import { ControlPlane, controlOptions } from './control-plane.js';
import { deliveryTable, deliveryText } from './delivery-text.js';
import { findDelivery, ID_ARGUMENT } from './find-delivery.js';
import { printResult } from './print.js';
import { Patience, timeoutOption, waitForDelivery } from './wait-for-delivery.js';

const STATUSES = ['pending', 'in_flight', 'retrying', 'delivered', 'failed', 'cancelled'] as const;

const attemptOption = { type: 'string', value: 'N', about: 'Which attempt; the last unless given.' } as const;

export const list = command({
  about: 'Lists the deliveries that the simulator has recorded, newest first.',
  arguments: [],
  options: {
    status: {
      type: 'string',
      value: 'A,B',
      about: `Only these: ${STATUSES.join(', ')}.`,
      offer: STATUSES,
    },
    event: { type: 'string', value: 'NAME', about: 'Only this event; transaction.* too.', offer: 'event' },
    search: {
      type: 'string',
      value: 'TEXT',
      about: 'Only those with this text in an id, the name or the URL.',
    },
    limit: { type: 'string', value: 'N', about: 'At most so many; 20 unless given.' },
    ...controlOptions,
  },
  examples: [
    ['payment-webhooks deliveries list', 'the last twenty'],
    ['payment-webhooks deliveries list --status failed,retrying', 'what needs looking at'],
    ['payment-webhooks deliveries list --json --limit 500 | jq -r .status', 'for programs'],
  ],
  async run({ values, terminal }) {
    const { status, event, search: q, limit = '20' } = values;
    const control = new ControlPlane(values.url, terminal);
    const { data } = await control.get<{ data: Delivery[] }>('/deliveries', { status, event, q, limit });
    printResult(terminal, { json: values.json, values: data, text: deliveryTable(data) });
    return EXIT.ok;
  },
});

export const show = command({
  about:
    'Shows one delivery: each attempt with its diagnosis, and for the last one what was sent and how it was answered.',
  arguments: [ID_ARGUMENT],
  options: { attempt: attemptOption, ...controlOptions },
  examples: [['payment-webhooks deliveries show 0b6d9d55', 'by the first digits of its id']],
  async run({ positionals: [id = ''], values, terminal }) {
    const delivery = await findDelivery(new ControlPlane(values.url, terminal), id);
    const text = deliveryText(delivery, chosen(delivery, values.attempt));
    printResult(terminal, { json: values.json, values: [delivery], text });
    return EXIT.ok;
  },
});

export const curl = command({
  about: 'Prints one shell command that sends the bytes of an attempt again, signature and all.',
  arguments: [ID_ARGUMENT],
  options: { attempt: attemptOption, ...controlOptions },
  examples: [['payment-webhooks deliveries curl 0b6d9d55 | sh', 'send it at once']],
  async run({ positionals: [id = ''], values, terminal }) {
    const control = new ControlPlane(values.url, terminal);
    const delivery = await findDelivery(control, id);
    chosen(delivery, values.attempt);
    const query = { attempt: values.attempt };
    const line = (await control.getText(`/deliveries/${delivery.id}/curl`, query)).trimEnd();
    printResult(terminal, { json: values.json, values: [{ curl: line }], text: line });
    return EXIT.ok;
  },
});

export const resend = command({
  about:
    'Sends the same event again, byte for byte, as a new attempt of its delivery, and waits for the answer.',
  arguments: [{ ...ID_ARGUMENT, optional: true }],
  options: {
    failed: { type: 'boolean', about: 'All deliveries that have failed, instead of one.' },
    timeout: timeoutOption,
    ...controlOptions,
  },
  examples: [
    ['payment-webhooks deliveries resend 0b6d9d55', 'one'],
    ['payment-webhooks deliveries resend --failed', 'all that failed, once the endpoint is mended'],
  ],
  async run({ positionals: [id], values, terminal }) {
    if ((id === undefined) !== (values.failed === true)) throw new UsageError('Give an ID, or --failed.');
    const patience = new Patience(values.timeout);
    const control = new ControlPlane(values.url, terminal);
    const deliveries = id === undefined ? await failed(control) : [await findDelivery(control, id)];
    const resent: Delivery[] = [];
    let succeeded = true;
    for (const delivery of deliveries) {
      const [after, attempt] = await resendOne(control, delivery, patience);
      resent.push(after);
      succeeded &&= attempt.succeeded;
    }
    const text = resent.length === 0 ? 'No delivery has failed.' : deliveryTable(resent);
    printResult(terminal, { json: values.json, values: resent, text });
    return succeeded ? EXIT.ok : EXIT.failed;
  },
});

async function failed(control: ControlPlane): Promise<Delivery[]> {
  const query = { status: 'failed', limit: '1000' };
  return (await control.get<{ data: Delivery[] }>('/deliveries', query)).data.reverse();
}

/** The delivery once it was sent again, and the attempt that did it: an automatic one may come in between. */
async function resendOne(
  control: ControlPlane,
  { id }: Delivery,
  patience: Patience,
): Promise<[Delivery, Attempt]> {
  const { data } = await control.post<{ data: Delivery }>(`/deliveries/${encodeURIComponent(id)}/resend`);
  let last = data.attempts.at(-1)?.number ?? 0;
  for (;;) {
    const after = await waitForDelivery(control, { id, attempt: last + 1 }, patience);
    const attempt = after.attempts.find(({ number, trigger }) => number > last && trigger === 'manual');
    if (attempt) return [after, attempt];
    last = after.attempts.at(-1)?.number ?? last;
  }
}

/** @throws {CommandError} for an attempt that was not made */
function chosen({ attempts }: Delivery, number: string | undefined): Attempt | undefined {
  if (number === undefined) return attempts.at(-1);
  const attempt = attempts.find((one) => String(one.number) === number);
  if (attempt) return attempt;
  throw new CommandError(`There is no attempt ${JSON.stringify(number)}.`, EXIT.failed);
}
