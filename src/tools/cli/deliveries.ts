// `deliveries …`: lists, shows, resends and deletes the deliveries of the simulator.
import type { Attempt, Delivery } from '../simulator/delivery/delivery-record.js';
import { deliveryStatuses } from '../simulator/delivery/delivery-status.js';
import { CommandError, command, EXIT, type ExitCode, flag, text, UsageError } from './command.js';
import { type ControlPlane, controlOptions, controlPlane, timeoutOption } from './control-plane.js';
import { deliveryTable, deliveryText, shortId } from './delivery-text.js';
import { eventPattern, notEmpty, oneOf, wholeNumber } from './flag-values.js';
import { AnswerError, isAnswer } from './json-client.js';
import { print, printable, table } from './print.js';

const ID_ARGUMENT = { name: 'ID', about: 'the id of the delivery, or its first digits', read: notEmpty };

const attemptOptions = {
  attempt: text({ N: '1' }, 'The number of the attempt. Default: the last.', { read: wholeNumber(1) }),
  ...controlOptions,
} as const;

export const list = command({
  about: 'Lists the deliveries that the simulator recorded, newest first.',
  options: {
    status: text({ 'A,B': 'failed,retrying' }, `Only these: ${deliveryStatuses.join(', ')}.`, {
      read: (name: string, text: string) => {
        for (const status of text.split(',')) oneOf(deliveryStatuses)(name, status);
        return text;
      },
    }),
    event: text({ NAME: 'transaction.paid' }, 'Only this event, or a pattern like transaction.*.', {
      read: eventPattern,
    }),
    search: text({ TEXT: 'order-7' }, 'Only those with this text in an id, the event name or the URL.'),
    limit: text({ N: '100' }, 'At most this many. Default: 20.', { read: wholeNumber(1, 1_000) }),
    ...controlOptions,
  },
  examples: {
    'payment-webhooks deliveries list': 'the latest twenty',
    'payment-webhooks deliveries list --status failed,retrying': 'those that need attention',
    'payment-webhooks deliveries list --json --limit 500 | jq -r .status': 'for programs',
  },
  async run({ values, terminal }) {
    const { status, event, search: q, limit = 20 } = values;
    const control = controlPlane(values, terminal);
    const found = await control.deliveries({ status, event, q, limit });
    const filtered = [status, event, q].some((value) => value !== undefined);
    return { values: found, text: deliveryTable(found, terminal, filtered) };
  },
});

export const show = command({
  about:
    'Shows one delivery: each attempt with its diagnosis, and the request and answer of the last attempt.',
  arguments: [ID_ARGUMENT],
  options: attemptOptions,
  examples: { 'payment-webhooks deliveries show 0b6d9d55': 'the first digits of the id are enough' },
  async run({ positionals: [id = ''], values, terminal }) {
    const delivery = await findDelivery(controlPlane(values, terminal), id);
    return { values: [delivery], text: deliveryText(delivery, chosenAttempt(delivery, values.attempt)) };
  },
});

export const curl = command({
  about: 'Prints a shell command that sends the same bytes and signature as an attempt.',
  arguments: [ID_ARGUMENT],
  options: attemptOptions,
  examples: { 'payment-webhooks deliveries curl 0b6d9d55 | sh': 'send it now' },
  async run({ positionals: [id = ''], values, terminal }) {
    const { attempt } = values;
    const control = controlPlane(values, terminal);
    const delivery = await findDelivery(control, id);
    chosenAttempt(delivery, attempt);
    const line = (await control.getText(`/deliveries/${delivery.id}/curl`, { attempt })).trimEnd();
    return { values: [{ curl: line }], text: line };
  },
});

export const resend = command({
  about: 'Sends the same event again, byte for byte, as a new attempt, and waits for the answer.',
  arguments: [{ ...ID_ARGUMENT, optional: true }],
  options: {
    failed: flag('All failed deliveries, instead of one.'),
    timeout: timeoutOption,
    ...controlOptions,
  },
  examples: {
    'payment-webhooks deliveries resend 0b6d9d55': 'send one event again',
    'payment-webhooks deliveries resend --failed': 'all that failed, after you fixed the endpoint',
  },
  async run({ positionals: [id], values, terminal }) {
    if ((id === undefined) !== (values.failed === true)) throw new UsageError('Pass an ID, or --failed.');
    const control = controlPlane(values, terminal);
    // Oldest first.
    const chosen =
      id === undefined
        ? (await control.deliveries({ status: 'failed', limit: 1_000 })).reverse()
        : [await findDelivery(control, id)];
    if (chosen.length === 0) return { values: [], text: 'No delivery has failed.' };
    const resent: Delivery[] = [];
    const diagnoses = new Set<string>();
    let exitCode: ExitCode = EXIT.ok;
    for (const delivery of chosen) {
      try {
        const [after, { succeeded, diagnosis }] = await resendOne(control, delivery);
        resent.push(after);
        if (!succeeded) exitCode = EXIT.failed;
        if (diagnosis !== null) diagnoses.add(diagnosis);
      } catch (error) {
        // With --failed, the others can still be sent.
        if (id !== undefined || !isAnswer(error, WEBHOOK_DELETED)) throw error;
        exitCode = EXIT.failed;
        print(terminal.stderr, printable(`${shortId(delivery.id)}: ${error.message}`));
      }
    }
    const notes = values.json ? [] : diagnoses;
    return {
      values: resent,
      text: resent.length === 0 ? '' : deliveryTable(resent, terminal),
      notes,
      exitCode,
    };
  },
});

export const clear = command({
  about:
    'Deletes the finished deliveries from the history of the simulator: delivered, failed and cancelled ones. Those with a pending retry stay, and are retried.',
  options: controlOptions,
  examples: { 'payment-webhooks deliveries clear': 'an empty list before the next test' },
  async run({ values, terminal }) {
    const control = controlPlane(values, terminal);
    const { data } = await control.delete<{ data: { deleted: number; kept: number } }>('/deliveries');
    const counts = { deleted: `${data.deleted}`, 'still pending': `${data.kept}` };
    return { values: [data], text: table(Object.entries(counts)) };
  },
});

/** The answer to a resend whose webhook was deleted. */
const WEBHOOK_DELETED = 409;

/** The delivery and its new attempt. An automatic retry may run before that attempt. */
async function resendOne(control: ControlPlane, { id }: Delivery): Promise<[Delivery, Attempt]> {
  const path = `/deliveries/${encodeURIComponent(id)}/resend`;
  const { data } = await control.post<{ data: Delivery }>(path).catch((error) => {
    if (!isAnswer(error, WEBHOOK_DELETED)) throw error;
    const next = 'Register one with `payment-webhooks webhooks create`, and trigger the event again.';
    throw new AnswerError(`${error.message} ${next}`, error.status);
  });
  let last = data.attempts.at(-1)?.number ?? 0;
  for (;;) {
    const after = await control.waitFor(id, last + 1);
    const attempt = after.attempts.find(({ number, trigger }) => number > last && trigger === 'manual');
    if (attempt) return [after, attempt];
    last = after.attempts.at(-1)?.number ?? last;
  }
}

/** The delivery whose id is, or begins with, `id`. */
async function findDelivery(control: ControlPlane, id: string): Promise<Delivery> {
  try {
    return await control.delivery(id);
  } catch (error) {
    if (!isAnswer(error, 404)) throw error;
    const matches = await control.deliveries({ q: id, limit: 1_000 });
    const found = matches.filter((delivery) => delivery.id.startsWith(id.toLowerCase()));
    const [only] = found;
    if (!only)
      throw new AnswerError(`${error.message} See \`payment-webhooks deliveries list\`.`, error.status);
    if (found.length === 1) return only;
    const some = found.slice(0, 5).map((delivery) => shortId(delivery.id));
    const message = `ID ${id} matches ${found.length} deliveries: ${some.join(', ')}. Pass more digits.`;
    throw new CommandError(message, EXIT.failed);
  }
}

function chosenAttempt({ attempts }: Delivery, number: number | undefined): Attempt | undefined {
  if (number === undefined) return attempts.at(-1);
  const attempt = attempts.find((one) => one.number === number);
  if (attempt) return attempt;
  const last = attempts.at(-1)?.number ?? 0;
  throw new CommandError(`--attempt ${number} does not exist. The last attempt is ${last}.`, EXIT.failed);
}
