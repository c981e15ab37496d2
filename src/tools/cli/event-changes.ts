// What `--set` and `--data` ask for, as the fields of a trigger.
import { didYouMean } from '../../errors.js';
import { envelope } from '../../events/envelope.js';
import { samplePayload } from '../../fixtures/fixture.js';
import { UsageError } from './command.js';

type Fields = Record<string, unknown>;

/** What differs from the sample event; a given payload replaces the sample's. */
export interface EventChanges {
  readonly overrides: object;
  readonly payload?: object;
}

const ROOTS = ['id', 'payload', 'sandbox'];

const KINDS_WITHOUT_FIELDS: ReadonlyMap<string, string> = new Map([
  ['string', 'text'],
  ['number', 'a number'],
  ['boolean', 'true or false'],
]);

/**
 * @param data JSON: a payload, or a whole event, which has an `event_name`
 * @param sets `a.b=text` and `a.b:=json`, from the root of the event; a dot in a name is `\.`
 * @throws {UsageError}
 */
export function eventChanges(name: string, data: string | undefined, sets: readonly string[]): EventChanges {
  const { payload, overrides } = data === undefined ? { overrides: {} } : readData(name, data);
  const changed: Fields = { ...overrides };
  const sample = { id: '', sandbox: false, payload: payload ?? samplePayload(name) ?? {}, ...overrides };
  for (const text of sets) set(changed, text, sample);
  refuseInvalid(name, changed, sets);
  return { overrides: changed, ...(payload === undefined ? {} : { payload }) };
}

function readData(name: string, text: string): { payload?: object; overrides: object } {
  const data = parse(text, '--data');
  if (!isFields(data)) throw new UsageError('--data is not a JSON object.');
  if (!Object.hasOwn(data, 'event_name')) return { payload: data, overrides: {} };
  const { event_name, payload, ...overrides } = data;
  if (event_name !== name) {
    throw new UsageError(`--data is an event ${JSON.stringify(event_name)}, and EVENT is ${name}.`);
  }
  if (!isFields(payload)) throw new UsageError('The payload in --data is not a JSON object.');
  return { payload, overrides };
}

/** Writes one `--set` into `fields`. The sample says which of its fields hold no further ones. */
function set(fields: Fields, text: string, sample: unknown): void {
  const equals = text.indexOf('=');
  const isJson = text[equals - 1] === ':';
  const path = text.slice(0, isJson ? equals - 1 : Math.max(equals, 0));
  if (path === '') throw new UsageError(`--set ${text} is not like payload.transaction.amount=12.50.`);
  const value = isJson ? parse(text.slice(equals + 1), `--set ${path}:=`) : text.slice(equals + 1);
  const names = path.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'));
  refuseUnknownRoot(path, names[0] ?? '');
  let place = fields;
  let sampled = sample;
  for (const [index, part] of names.slice(0, -1).entries()) {
    sampled = fieldOf(sampled, part);
    const changed = fieldOf(place, part);
    const current = changed === undefined ? sampled : changed;
    const kind = Array.isArray(current) ? 'a list' : KINDS_WITHOUT_FIELDS.get(typeof current);
    if (kind) {
      const parent = names.slice(0, index + 1).join('.');
      throw new UsageError(`--set ${path}: ${parent} is ${kind} and has no fields.`);
    }
    if (!isFields(changed)) put(place, part, {});
    place = place[part] as Fields;
  }
  put(place, names.at(-1) ?? '', value);
}

function refuseUnknownRoot(path: string, root: string): void {
  if (ROOTS.includes(root)) return;
  const near = didYouMean(root, ROOTS) || ` Did you mean "payload.${path}"?`;
  throw new UsageError(`--set ${path} does not begin with id, sandbox or payload.${near}`);
}

/** Refuses what the simulator would refuse, and names what the person typed. */
function refuseInvalid(name: string, changed: Fields, sets: readonly string[]): void {
  const event = { id: '-', sandbox: false, payload: {}, ...changed, event_name: name };
  const issue = envelope.safeParse(event).error?.issues[0];
  if (!issue) return;
  const field = String(issue.path[0]);
  const where = sets.some((text) => text.startsWith(field)) ? `--set ${field}` : `The ${field} in --data`;
  const hint = field === 'sandbox' ? ' Give --set sandbox:=true or --set sandbox:=false.' : '';
  throw new UsageError(`${where} is not valid: ${issue.message.replace(/^Invalid input: /, '')}.${hint}`);
}

/** Defined, not assigned: a name may be `__proto__`. */
function put(fields: Fields, name: string, value: unknown): void {
  Object.defineProperty(fields, name, { value, enumerable: true, writable: true, configurable: true });
}

function parse(text: string, flag: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    const hint = flag.endsWith(':=') ? ` For text, use ${flag.replace(':=', '=')}` : '';
    throw new UsageError(`${flag} is not JSON.${hint}`);
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return isFields(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
