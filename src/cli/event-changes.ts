// What `--set` and `--data` ask for, as the fields of a trigger.
import { didYouMean } from '../nearest-name.js';
import { UsageError } from './command.js';

type Fields = Record<string, unknown>;

/** What differs from the sample event; a payload that is given replaces the sample's. */
export interface EventChanges {
  readonly overrides: object;
  readonly payload?: object;
}

const ROOTS = ['id', 'payload', 'sandbox'];

/**
 * @param data JSON: a payload, or a whole event, which has an `event_name`
 * @param sets `a.b=text` and `a.b:=json`, from the root of the event; a dot that is part of a name is `\.`
 * @throws {UsageError}
 */
export function eventChanges(name: string, data: string | undefined, sets: readonly string[]): EventChanges {
  const { payload, overrides } = data === undefined ? { overrides: {} } : readData(name, data);
  const changed: Fields = { ...overrides };
  for (const text of sets) set(changed, text);
  return { overrides: changed, ...(payload === undefined ? {} : { payload }) };
}

function readData(name: string, text: string): { payload?: object; overrides: object } {
  const data = parse(text, '--data');
  if (!isFields(data)) throw new UsageError('--data is no JSON object.');
  if (!Object.hasOwn(data, 'event_name')) return { payload: data, overrides: {} };
  const { event_name, payload, ...overrides } = data;
  if (event_name !== name) {
    throw new UsageError(`--data is an event ${JSON.stringify(event_name)}, and not ${name}.`);
  }
  if (!isFields(payload)) throw new UsageError('The payload in --data is no JSON object.');
  return { payload, overrides };
}

function set(fields: Fields, text: string): void {
  const equals = text.indexOf('=');
  const isJson = text[equals - 1] === ':';
  const path = text.slice(0, isJson ? equals - 1 : Math.max(equals, 0));
  if (path === '') throw new UsageError(`--set ${text} is not like payload.transaction.amount=12.50.`);
  const value = isJson ? parse(text.slice(equals + 1), `--set ${path}:=`) : text.slice(equals + 1);
  const names = path.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'));
  refuseUnknownRoot(path, names[0] ?? '');
  let place = fields;
  for (const part of names.slice(0, -1)) {
    if (!Object.hasOwn(place, part)) put(place, part, {});
    const next = place[part];
    if (!isFields(next)) throw new UsageError(`--set ${path} is inside of a value that is set besides.`);
    place = next;
  }
  put(place, names.at(-1) ?? '', value);
}

function refuseUnknownRoot(path: string, root: string): void {
  if (ROOTS.includes(root)) return;
  const near = didYouMean(root, ROOTS) || ` Did you mean "payload.${path}"?`;
  throw new UsageError(`--set begins at the event: id, sandbox or payload.${near}`);
}

/** Defined and not assigned, because a name may be `__proto__`. */
function put(fields: Fields, name: string, value: unknown): void {
  Object.defineProperty(fields, name, { value, enumerable: true, writable: true, configurable: true });
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    const hint = what.endsWith(':=') ? ` For text, use ${what.replace(':=', '=')}` : '';
    throw new UsageError(`${what} is no JSON.${hint}`);
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
