// `trigger`: triggers an event in the simulator, and with --wait reports how its deliveries end.
import { didYouMean } from '../../errors.js';
import { isEventName } from '../../events/envelope.js';
import { builtInEventNames } from '../../events/event.js';
import type { Delivery } from '../simulator/delivery/delivery-record.js';
import { faultKinds } from '../simulator/delivery/faults.js';
import { CommandError, command, EXIT, flag, text, UsageError } from './command.js';
import {
  ControlError,
  ControlPlane,
  controlOptions,
  timeoutOption,
  WaitLimit,
  waitForDelivery,
} from './control-plane.js';
import { attemptsText, deliveryTable } from './delivery-text.js';
import { eventChanges } from './event-changes.js';
import { headerName, oneOf, wholeNumber } from './flag-values.js';
import { readBody } from './read-input.js';

interface Triggered {
  readonly data: { readonly deliveries: Delivery[] };
  /** Why nothing is delivered. */
  readonly message?: string;
}

export const trigger = command({
  about:
    'Triggers an event in the simulator, which delivers it to every webhook that subscribes to it. The event is a complete sample with a new id; --set and --data change it. An undeclared name needs --force, because it may be a typing error; its payload is empty unless you give --data or --set.',
  arguments: [{ name: 'EVENT', about: 'name of the event, such as transaction.paid', offer: 'event' }],
  options: {
    set: text(
      { 'PATH=VALUE': 'payload.transaction.amount=12.50' },
      'Change one field. PATH=TEXT is always text, PATH:=JSON any other value. A dot in a name is \\.',
      { multiple: true },
    ),
    data: text(
      { '@FILE': '@event.json' },
      'JSON instead of the sample: a payload, or a whole event. @FILE, @- or the text itself.',
    ),
    force: flag('Send the event although its name is not declared.'),
    count: text({ N: '10' }, 'How many events, at most 1000.'),
    fault: text({ KIND: 'tamper_body' }, `Apply a fault to the first attempt: ${faultKinds.join(', ')}.`, {
      offer: faultKinds,
    }),
    'signature-header': text(
      { NAME: 'X-Signature' },
      'Name of the header with the signature. Default: that of the simulator.',
    ),
    wait: flag(
      'Wait until every delivery is delivered, failed or cancelled, instead of for the first attempt.',
    ),
    timeout: timeoutOption,
    ...controlOptions,
  },
  examples: {
    'payment-webhooks trigger transaction.paid --wait': 'in CI: the exit code says whether it was delivered',
    'payment-webhooks trigger transaction.paid --set payload.transaction.amount=12.50 --set sandbox:=true':
      'another amount, in the sandbox',
    "payment-webhooks trigger transaction.paid --set 'payload.metadata.cart\\.id=cart-7'":
      'a name with a dot',
    'payment-webhooks trigger refund.succeeded --force --data @refund.json': 'an event of your own',
    'payment-webhooks trigger transaction.paid --fault tamper_body':
      'a changed body: expect a 401 at the first attempt',
  },
  async run({ positionals: [name = ''], values, terminal }) {
    checkName(name, values.force);
    if (values.timeout !== undefined && !values.wait) throw new UsageError('--timeout needs --wait.');
    const limit = new WaitLimit(values.timeout);
    const { 'signature-header': header } = values;
    const control = new ControlPlane(values.url, terminal);
    const data =
      values.data === undefined ? undefined : (await readBody('--data', values.data, terminal)).toString();
    const { data: triggered, message } = await control.post<Triggered>('/events', {
      event_name: name,
      ...eventChanges(name, data, values.set ?? []),
      ...(values.count === undefined ? {} : { count: wholeNumber('--count', values.count, [1, 1_000]) }),
      ...(values.fault === undefined ? {} : { fault: oneOf('--fault', values.fault, faultKinds) }),
      ...(header === undefined ? {} : { signature_header: headerName('--signature-header', header) }),
    });
    if (message !== undefined) throw new CommandError(message, EXIT.failed, 'NO_WEBHOOK');
    const deliveries: Delivery[] = [];
    for (const each of triggered.deliveries)
      deliveries.push(
        await (values.wait ? waitForDelivery(control, each, limit) : tried(control, each, limit)),
      );
    const open = deliveries.filter(({ status }) => status !== 'delivered');
    const failed = values.wait ? open : open.filter(isUnexpected);
    return {
      values: deliveries,
      text: [deliveryTable(deliveries), ...deliveries.map(attemptsText)].filter(Boolean).join('\n\n'),
      notes: values.json ? [] : new Set(open.flatMap(({ attempts }) => attempts.at(-1)?.diagnosis ?? [])),
      exitCode: failed.length === 0 ? EXIT.ok : EXIT.failed,
    };
  },
});

/** After its first attempt. The simulator keeps 500 deliveries, so one of many may be gone by then. */
async function tried(control: ControlPlane, delivery: Delivery, limit: WaitLimit): Promise<Delivery> {
  const { id } = delivery;
  try {
    const { data: known } = await control.get<{ data: Delivery }>(`/deliveries/${encodeURIComponent(id)}`);
    const isDue = known.attempts.length === 0 && known.status !== 'cancelled';
    return isDue ? await waitForDelivery(control, { id, attempt: 1 }, limit) : known;
  } catch (error) {
    const isGone = error instanceof CommandError && error.code === 'FORGOTTEN';
    if (isGone || (error instanceof ControlError && error.status === 404)) return delivery;
    throw error;
  }
}

/** Whether its attempt failed, and not because of a fault. */
function isUnexpected({ attempts }: Delivery): boolean {
  return attempts.at(-1)?.fault === null;
}

/** The service has more events, with names that are not documented, so --force allows any name. */
function checkName(name: string, force = false): void {
  const declared: readonly string[] = builtInEventNames;
  if (force && !isEventName(name)) {
    throw new UsageError(
      `EVENT ${JSON.stringify(name)} is not an event name. Give <resource>.<action>, such as transaction.paid.`,
    );
  }
  if (force || declared.includes(name)) return;
  const hint = didYouMean(name, declared);
  const known = hint === '' ? ` (${declared.join(', ')})` : '';
  throw new CommandError(
    `EVENT ${JSON.stringify(name)} is not a declared event${known}.${hint} To send it anyway, give --force.`,
    EXIT.refused,
    'EVENT_UNDECLARED',
  );
}
