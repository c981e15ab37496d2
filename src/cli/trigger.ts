// `trigger`: has an event happen in the simulator, and with --wait sees what becomes of it.
import { faultKinds } from '../simulator/fault-kinds.js';
import type { Delivery } from '../simulator.js';
import { CommandError, command, EXIT, UsageError } from './command.js';
import { ControlPlane, controlOptions } from './control-plane.js';
import { deliveryTable } from './delivery-text.js';
import { eventChanges } from './event-changes.js';
import { print, printResult } from './print.js';
import { readBody } from './read-body.js';
import { Patience, timeoutOption, waitForDelivery } from './wait-for-delivery.js';

interface Happened {
  readonly data: { readonly deliveries: Delivery[] };
  /** Why nothing is delivered. */
  readonly message?: string;
}

export const trigger = command({
  about:
    'Has an event happen in the simulator, which delivers it to every webhook that subscribes to it. The event is a complete sample with a new id; --set and --data change it. An event that the service does not document begins with an empty payload.',
  arguments: [{ name: 'EVENT', about: 'name of the event, such as transaction.paid', offer: 'event' }],
  options: {
    set: {
      type: 'string',
      multiple: true,
      value: 'PATH=VALUE',
      about:
        'Change one field. PATH=TEXT is always text, PATH:=JSON any other value. A dot inside of a name is \\.',
    },
    data: {
      type: 'string',
      value: '@FILE',
      about: 'JSON to send instead of the sample: a payload, or a whole event. @FILE, @- or the text itself.',
    },
    count: { type: 'string', value: 'N', about: 'How many events, at most 1000.' },
    fault: {
      type: 'string',
      value: 'KIND',
      about: `Damage the first attempt: ${faultKinds.join(', ')}.`,
      offer: faultKinds,
    },
    wait: {
      type: 'boolean',
      about: 'Wait until each delivery is delivered, has failed for good, or is cancelled.',
    },
    timeout: timeoutOption,
    ...controlOptions,
  },
  examples: [
    [
      'payment-webhooks trigger transaction.paid --wait',
      'in CI: the exit code says whether it was delivered',
    ],
    [
      'payment-webhooks trigger transaction.paid --set payload.transaction.amount=12.50 --set sandbox:=true',
      'another amount, in the sandbox',
    ],
    [
      `payment-webhooks trigger transaction.paid --set 'payload.metadata.cart\\.id=cart-7'`,
      'a name with a dot',
    ],
    ['payment-webhooks trigger refund.succeeded --data @refund.json', 'an event of your own'],
    ['payment-webhooks trigger transaction.paid --fault tamper_body', 'changed on the way: expect a 401'],
  ],
  async run({ positionals: [name = ''], values, terminal }) {
    if (values.timeout !== undefined && !values.wait) throw new UsageError('--timeout needs --wait.');
    const patience = new Patience(values.timeout);
    const control = new ControlPlane(values.url, terminal);
    const data = values.data === undefined ? undefined : (await readBody(values.data, terminal)).toString();
    const { data: happened, message } = await control.post<Happened>('/events', {
      event_name: name,
      ...eventChanges(name, data, values.set ?? []),
      ...(values.count === undefined ? {} : { count: wholeNumber(values.count) }),
      ...(values.fault === undefined ? {} : { fault: values.fault }),
    });
    if (message !== undefined) throw new CommandError(message, EXIT.failed, 'NO_WEBHOOK');
    const deliveries: Delivery[] = [];
    for (const delivery of happened.deliveries) {
      deliveries.push(values.wait ? await waitForDelivery(control, delivery, patience) : delivery);
    }
    printResult(terminal, { json: values.json, values: deliveries, text: deliveryTable(deliveries) });
    if (!values.wait) return EXIT.ok;
    if (!values.json) for (const line of diagnoses(deliveries)) print(terminal.stderr, line);
    return deliveries.every(({ status }) => status === 'delivered') ? EXIT.ok : EXIT.failed;
  },
});

function wholeNumber(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new UsageError('--count is no whole number.');
}

/** Why deliveries failed, each reason once. */
function diagnoses(deliveries: readonly Delivery[]): string[] {
  const failed = deliveries.filter(({ status }) => status !== 'delivered');
  return [...new Set(failed.flatMap(({ attempts }) => attempts.at(-1)?.diagnosis ?? []))];
}
