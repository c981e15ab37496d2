// `trigger`: triggers an event in the simulator, changed by --set and --data, and waits for its delivery.

import { isEventName, isMap } from '../../events/envelope.js';
import { builtInEventNames } from '../../events/event.js';
import { envelope } from '../../events/schemas.js';
import { samplePayload } from '../../fixtures/fixture.js';
import { didYouMean, nearestName } from '../../misuse.js';
import type { Delivery } from '../simulator/delivery/delivery-record.js';
import { faultKinds } from '../simulator/delivery/faults.js';
import { CommandError, command, EXIT, flag, text, UsageError } from './command.js';
import { type ControlPlane, controlOptions, controlPlane, timeoutOption } from './control-plane.js';
import { attemptsText, deliveryTable } from './delivery-text.js';
import { whyNotJson } from './encoding.js';
import { defined, headerOption, oneOf, ValueError, wholeNumber } from './flag-values.js';
import { isAnswer } from './json-client.js';
import { parseJson, readBody } from './read-input.js';

/** The message says why nothing is delivered. */
type Triggered = { readonly data: { readonly deliveries: Delivery[] }; readonly message?: string };

export const trigger = command({
  about:
    'Triggers an event in the simulator, which delivers it to every webhook that subscribes to it. The event is a complete sample with a new id; --set and --data change it. An undeclared name may be a typo, so it needs --force; its payload is empty unless you give --data or --set.',
  arguments: [{ name: 'EVENT', about: 'name of the event, such as transaction.paid' }],
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
    count: text(
      { N: '10' },
      'How many events, at most 1000. With --wait, at most 500 deliveries: the simulator keeps no more.',
      { read: wholeNumber(1, 1_000) },
    ),
    fault: text({ KIND: 'tamper_body' }, `Apply a fault to the first attempt: ${faultKinds.join(', ')}.`, {
      read: oneOf(faultKinds),
    }),
    'signature-header': headerOption('header', '. Default: that of the simulator.'),
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
    'payment-webhooks trigger refund.succeeded --force --data @refund.json': 'your own event',
    'payment-webhooks trigger transaction.paid --fault tamper_body':
      'a changed body: expect a 401 at the first attempt',
  },
  async run({ positionals: [name = ''], values, terminal }) {
    checkName(name, values.force);
    if (values.timeout !== undefined && !values.wait) throw new UsageError('--timeout needs --wait.');
    const control = controlPlane(values, terminal);
    const data =
      values.data === undefined ? undefined : (await readBody('--data', values.data, terminal)).toString();
    const { data: triggered, message } = await control.post<Triggered>('/events', {
      event_name: name,
      ...eventChanges(name, data, values.set ?? []),
      count: values.count,
      fault: values.fault,
      signature_header: values['signature-header'],
    });
    if (message !== undefined) throw new CommandError(message, EXIT.failed, 'NO_WEBHOOK');
    const deliveries: Delivery[] = [];
    for (const each of triggered.deliveries)
      deliveries.push(await (values.wait ? control.waitFor(each.id) : firstAttempt(control, each)));
    const open = deliveries.filter(({ status }) => status !== 'delivered');
    // Without --wait, an injected fault explains a failed attempt.
    const failed = values.wait ? open : open.filter(({ attempts }) => attempts.at(-1)?.fault === null);
    return {
      values: deliveries,
      text: [deliveryTable(deliveries, terminal), ...deliveries.map(attemptsText)]
        .filter(Boolean)
        .join('\n\n'),
      notes: [
        ...addedFields(name, data, values.set ?? []),
        ...(values.json ? [] : new Set(open.flatMap(({ attempts }) => attempts.at(-1)?.diagnosis ?? []))),
      ],
      exitCode: failed.length === 0 ? EXIT.ok : EXIT.failed,
    };
  },
});

/** The simulator keeps 500 deliveries, so it may have deleted this one before its answer is read. */
async function firstAttempt(control: ControlPlane, delivery: Delivery): Promise<Delivery> {
  try {
    const known = await control.delivery(delivery.id);
    const isDue = known.attempts.length === 0 && known.status !== 'cancelled';
    return isDue ? await control.waitFor(delivery.id, 1) : known;
  } catch (error) {
    const isGone = error instanceof CommandError && error.code === 'FORGOTTEN';
    if (isGone || isAnswer(error, 404)) return delivery;
    throw error;
  }
}

/** --force allows any name, because the service has events that it does not document. */
function checkName(name: string, force = false): void {
  const declared: readonly string[] = builtInEventNames;
  if (force ? isEventName(name) : declared.includes(name)) return;
  if (force) {
    const advice = 'Pass <resource>.<action>, such as transaction.paid.';
    throw new ValueError('EVENT', name, `is not an event name. ${advice}`);
  }
  const hint = didYouMean(name, declared);
  const known = hint === '' ? ` (${declared.join(', ')})` : '';
  const problem = `EVENT ${JSON.stringify(name)} is not a declared event${known}.${hint}`;
  throw new CommandError(`${problem} To send it anyway, give --force.`, EXIT.refused, 'EVENT_UNDECLARED');
}

type Fields = Record<string, unknown>;

const ROOTS = ['id', 'payload', 'sandbox'];

/** By `typeof`. */
const KINDS_WITHOUT_FIELDS: Partial<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
};

/** The changes to the sample event. A `payload` replaces that of the sample. */
export function eventChanges(name: string, data: string | undefined, sets: readonly string[]) {
  const { payload, overrides } = data === undefined ? { overrides: {} } : readData(name, data);
  const changed: Fields = { ...overrides };
  const sample = { id: '', sandbox: false, payload: payload ?? samplePayload(name) ?? {}, ...overrides };
  for (const text of sets) set(changed, text, sample);
  refuseInvalid(name, changed, sets);
  return { overrides: changed, ...defined({ payload }) };
}

/** Reads JSON: a payload, or a whole event, which has an `event_name`. */
function readData(name: string, text: string): { payload?: object; overrides: object } {
  const data = parse(text, '--data');
  if (!isMap(data)) throw new UsageError('--data is not a JSON object.');
  if (!Object.hasOwn(data, 'event_name')) return { payload: data, overrides: {} };
  const { event_name, payload, ...overrides } = data;
  if (event_name !== name) {
    throw new UsageError(`--data is an event ${JSON.stringify(event_name)}, and EVENT is ${name}.`);
  }
  if (!isMap(payload)) throw new UsageError('The payload in --data is not a JSON object.');
  return { payload, overrides };
}

/** Applies `a.b=text` or `a.b:=json`, where a dot in a name is `\.`. The sample tells which fields are objects. */
function set(fields: Fields, text: string, sample: unknown): void {
  const [, path = '', colon, given = ''] = /^([^=]*?)(:?)=(.*)$/s.exec(text) ?? [];
  if (path === '')
    throw new UsageError(`--set ${text} is invalid. Pass one like payload.transaction.amount=12.50.`);
  const value = colon ? parse(given, `--set ${path}:=`) : given;
  const names = namesIn(path);
  const [root = ''] = names;
  if (!ROOTS.includes(root)) {
    const objects = Object.entries(Object(fieldOf(sample, 'payload')));
    const [parent] = objects.find(([, object]) => fieldOf(object, root) !== undefined) ?? [];
    const whole = ['payload', parent, path].filter(Boolean).join('.');
    const near = didYouMean(root, ROOTS) || ` Did you mean "${whole}"?`;
    throw new UsageError(`--set ${path} does not begin with id, sandbox or payload.${near}`);
  }
  let place = fields;
  let sampled = sample;
  for (const [index, part] of names.slice(0, -1).entries()) {
    sampled = fieldOf(sampled, part);
    const changed = fieldOf(place, part);
    const current = changed === undefined ? sampled : changed;
    const kind = Array.isArray(current) ? 'a list' : KINDS_WITHOUT_FIELDS[typeof current];
    if (kind) {
      const parent = names.slice(0, index + 1).join('.');
      throw new UsageError(`--set ${path}: ${parent} is ${kind} and has no fields.`);
    }
    if (!isMap(changed)) put(place, part, {});
    place = place[part] as Fields;
  }
  put(place, names.at(-1) ?? '', value);
}

function namesIn(path: string): string[] {
  return path.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'));
}

/** A warning for each field that --set adds to the sample, because it may be a typo. Any key of `metadata` is allowed. */
export function addedFields(name: string, data: string | undefined, sets: readonly string[]): string[] {
  const { payload = samplePayload(name) } = data === undefined ? {} : readData(name, data);
  const known = pathsOf(payload, 'payload');
  return sets.flatMap((text) => {
    const [, path = ''] = /^([^=]*?):?=/s.exec(text) ?? [];
    const [root, group] = namesIn(path);
    if (root !== 'payload' || group === 'metadata' || known.length === 0 || known.includes(path)) return [];
    const last = path.slice(path.lastIndexOf('.'));
    const near = known.find((each) => each.endsWith(last)) ?? nearestName(path, known);
    return `--set ${path} adds a field that the sample does not have.${near ? ` Did you mean "${near}"?` : ''}`;
  });
}

function pathsOf(value: unknown, path: string): string[] {
  if (!isMap(value)) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    const inner = `${path}.${name.replaceAll('.', '\\.')}`;
    return [inner, ...pathsOf(each, inner)];
  });
}

/** Refuses what the simulator would refuse, but names the option that was typed. */
function refuseInvalid(name: string, changed: Fields, sets: readonly string[]): void {
  const event = { id: '-', sandbox: false, payload: {}, ...changed, event_name: name };
  const issue = envelope.safeParse(event).error?.issues[0];
  if (!issue) return;
  const field = String(issue.path[0]);
  const where = sets.some((text) => text.startsWith(field)) ? `--set ${field}` : `The ${field} in --data`;
  const hint = field === 'sandbox' ? ' Use --set sandbox:=true or --set sandbox:=false.' : '';
  throw new UsageError(`${where} is not valid: ${issue.message.replace(/^Invalid input: /, '')}.${hint}`);
}

/** Not an assignment, because the name may be `__proto__`. */
function put(fields: Fields, name: string, value: unknown): void {
  Object.defineProperty(fields, name, { value, enumerable: true, writable: true, configurable: true });
}

function parse(text: string, flag: string): unknown {
  const value = parseJson(text);
  if (value !== undefined) return value;
  const hint = flag.endsWith(':=')
    ? ` For text, use ${flag.replace(':=', '=')}`
    : ` To read a file, give ${flag} @FILE.`;
  throw new UsageError(`${flag} ${whyNotJson(text)}.${hint}`);
}

function fieldOf(value: unknown, name: string): unknown {
  return isMap(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
