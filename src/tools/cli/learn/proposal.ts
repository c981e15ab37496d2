// Proposes schemas, types and fixtures as code, and decides which keys and words they may show.
import { unicodeEscape } from '../print.js';
import { type Field, MAX_SOURCES, madeUpText, type Shape } from './shape.js';

export interface Proposal {
  readonly schema: string;
  readonly type: string;
  readonly sample: string;
  /** A comment for the line above the field. */
  readonly note?: string | undefined;
}

const ANYTHING: Proposal = { schema: 'z.unknown()', type: 'unknown', sample: 'null' };
/** Maximum number of places in one schema. Further places are `unknown`. */
const MAX_PLACES = 1_000;
const MAX_FIELDS = 100;

/** Names of fields with enum words, which are never personal data. */
const CHOICES = new Set(
  'brand channel category currency kind method mode outcome result scheme state status type'.split(' '),
);

export class Proposer {
  #left = MAX_PLACES;

  propose(shape: Shape, key = ''): Proposal {
    this.#left -= 1;
    const { kinds } = shape;
    if (kinds.has('anything') || this.#left < 0) return ANYTHING;
    const variants: Proposal[] = [];
    if (kinds.has('text')) variants.push(textProposal(shape, key));
    if (kinds.has('number')) variants.push(scalar('number', kinds.has('fraction') ? '12.5' : '1001'));
    if (kinds.has('boolean')) variants.push(scalar('boolean', 'true'));
    if (kinds.has('map')) variants.push(this.#map(shape));
    if (kinds.has('list')) variants.push(this.#list(shape, key));
    return union(variants, kinds.has('null'));
  }

  #map(map: Shape): Proposal {
    const named = hasVaryingKeys(map) ? [] : [...map.fields].filter((entry) => isField(entry, map));
    const room = named.slice(0, Math.min(MAX_FIELDS, Math.max(this.#left, 0)));
    const [schemas, types, samples]: [string[], string[], string[]] = [[], [], []];
    for (const [key, { count, shape }] of room) {
      const name = /^[A-Za-z_$][\w$]*$/.test(key) ? key : literal(key);
      const { schema, type, sample, note } = this.propose(shape, key);
      const isOptional = count < map.objects;
      if (note !== undefined) schemas.push(`// ${note}`);
      schemas.push(`${name}: ${schema}${isOptional ? '.optional()' : ''},`);
      types.push(isOptional ? `${name}?: ${type} | undefined;` : `${name}: ${type};`);
      samples.push(`${name}: ${sample},`);
    }
    const left = map.fields.size - room.length;
    if (left > 0) schemas.push(`// ${left} more ${left === 1 ? 'key' : 'keys'}, which may be data.`);
    return {
      schema: block('z.looseObject({', schemas, '})'),
      type: types.length === 0 ? 'Record<string, unknown>' : block('{', types, '}'),
      sample: block('{', samples, '}'),
    };
  }

  #list({ element, kinds }: Shape, key: string): Proposal {
    if (!element) return kinds.has('map') ? EMPTY_LIST_OR_MAP : EMPTY_LIST;
    const { schema, type, sample } = this.propose(element, key);
    return { schema: `z.array(${schema})`, type: `Array<${type}>`, sample: `[${sample}]` };
  }
}

/** Every list was empty. PHP writes an empty map like this, too. */
const EMPTY_LIST: Proposal = {
  schema: 'z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())])',
  type: 'Array<unknown> | Record<string, unknown>',
  sample: '[]',
  note: 'Came as an empty list, which may stand for an empty map.',
};

const EMPTY_LIST_OR_MAP: Proposal = {
  schema: 'z.array(z.never())',
  type: 'Array<never>',
  sample: '[]',
  note: 'Came as a map and as an empty list.',
};

function scalar(type: string, sample: string): Proposal {
  return { schema: `z.${type}()`, type, sample };
}

function textProposal(shape: Shape, key: string): Proposal {
  const words = wordsOf(shape, key).map(literal);
  const type = words.length === 0 ? 'string' : [...words, '(string & {})'].join(' | ');
  return { schema: 'z.string()', type, sample: words[0] ?? literal(madeUpText(shape)) };
}

function union(variants: readonly Proposal[], nullable: boolean): Proposal {
  const [first, ...others] = variants;
  // A value that was always null may be something else in other events.
  if (!first) return nullable ? { ...ANYTHING, note: 'Was null each time.' } : ANYTHING;
  const schemas = variants.map(({ schema }) => schema);
  const schema = others.length === 0 ? first.schema : `z.union([${schemas.join(', ')}])`;
  const types = variants.map(({ type }) => type);
  return {
    schema: nullable ? `${schema}.nullable()` : schema,
    type: [...types, ...(nullable ? ['null'] : [])].join(' | '),
    sample: first.sample,
    note: variants.find(({ note }) => note !== undefined)?.note,
  };
}

/** A string literal without invisible characters: safe in source code and in a terminal. */
export function literal(text: string): string {
  return JSON.stringify(text).replace(/[^\x20-\x7e\p{L}\p{N}\p{P}\p{S}]/gu, (character) =>
    character.split('').map(unicodeEscape).join(''),
  );
}

function block(open: string, lines: readonly string[], close: string): string {
  if (lines.length === 0) return open + close;
  return [open, ...lines.map((line) => line.replace(/^/gm, '  ')), close].join('\n');
}

/** Inherited by every object, so a schema would see fields that were never sent. */
const INHERITED = new Set([...Object.getOwnPropertyNames(Object.prototype), '__proto__']);

/** Whether a key may be shown. The loose schema accepts all other keys. */
function isField([key, { sources }]: [string, Field], { filled }: Shape): boolean {
  if (INHERITED.has(key) || !isName(key)) return false;
  // A key in only one of many events may be a name that a person chose.
  return sources.size > 1 || filled < 10;
}

/** Whether the keys differ between objects, so that they are data and not fields. */
function hasVaryingKeys({ fields, filled }: Shape): boolean {
  if (fields.size > MAX_FIELDS) return true;
  return filled >= 3 && fields.size >= 6 && [...fields.values()].every(({ count }) => count * 2 <= filled);
}

/** Enum words: each was in several events, in a field with the name of an enum. */
function wordsOf({ words }: Shape, key: string): string[] {
  const [last = ''] = key.match(/[A-Z]?[a-z]+$|[A-Z]+$/) ?? [];
  if (!words || !CHOICES.has(last.toLowerCase())) return [];
  const repeated = [...words].filter(([, sources]) => sources.size >= MAX_SOURCES).map(([word]) => word);
  return repeated.sort();
}

const MAX_KEY_LENGTH = 64;
/** Four digits in a row: a number, a date, or a part of an id. */
const NUMBER = /\d{4}/;
const HEXADECIMAL = /^[\da-f]{8,}$/i;
/** More changes between letters and digits than names such as `address2line1` have. */
const RANDOM = /(?:[a-z]+\d+){3}|(?:\d+[a-z]+){3}/i;

/** Whether a key looks like the name of a field, and not like an id, an address, a number or a date. */
export function isName(key: string): boolean {
  if (!/^[A-Za-z_$][\w$.:-]*$/.test(key) || key.length > MAX_KEY_LENGTH || NUMBER.test(key)) return false;
  const bare = key.replace(/[-_]/g, '');
  return !(HEXADECIMAL.test(bare) && /\d/.test(bare)) && !RANDOM.test(bare);
}

export interface LearnedEvent {
  readonly name: string;
  readonly count: number;
  readonly proposal: Proposal;
  /** A unique name for the code, such as `refundSucceeded`. */
  readonly identifier: string;
}

function namesOf({ identifier }: LearnedEvent) {
  const type = identifier.replace(/^./, (first) => first.toUpperCase());
  const file = identifier.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return { schema: `${identifier}Payload`, type: `${type}Payload`, fixture: `${identifier}Fixture`, file };
}

/** In camel case. @param taken identifiers in lower case, to which this one is added */
export function identifierOf(name: string, taken: Set<string>): string {
  const capital = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase();
  const [first = '', ...others] = name.match(/[A-Za-z0-9]+/g) ?? [];
  const joined = [first.toLowerCase(), ...others.map(capital)].join('');
  const base = (/^[a-z]/.test(joined) ? joined : `event${joined}`).slice(0, 60);
  let identifier = base;
  // It becomes a file name, and some file systems ignore case.
  for (let count = 2; taken.has(identifier.toLowerCase()); count += 1) identifier = `${base}${count}`;
  taken.add(identifier.toLowerCase());
  return identifier;
}

const HEAD = `// Proposed by \`payment-webhooks learn\`. Every value is made up; the names of fields are those of the events.
import { z } from 'zod';`;

export function eventCode(event: LearnedEvent): string {
  const { count, proposal } = event;
  const { schema, type, fixture } = namesOf(event);
  return `/** Fits the payload of ${count === 1 ? 'the one event' : `the ${count} events`} that it was learned from. */
export const ${schema} = ${proposal.schema};

export type ${type} = ${proposal.type};

/** Made up: \`fixtures.event(name, ${fixture})\` of payment-webhooks/testing makes an event of it. */
export const ${fixture}: ${type} = ${proposal.sample};`;
}

export function moduleCode(events: readonly LearnedEvent[]): string {
  return `${[HEAD, ...events.map(eventCode), registryCode(events)].join('\n\n')}\n`;
}

function registryCode(events: readonly LearnedEvent[]): string {
  const lines = events.map((event) => `  ${literal(event.name)}: ${namesOf(event).schema},`);
  return ['/** For `receiver({ events })`. */', 'export const events = {', ...lines, '};'].join('\n');
}

/** A module for each event, and `index.ts` with all events. @returns code by file name */
export function moduleFiles(events: readonly LearnedEvent[]): Map<string, string> {
  const files = new Map<string, string>();
  for (const event of events) files.set(`${namesOf(event).file}.ts`, `${HEAD}\n\n${eventCode(event)}\n`);
  const imports = events.map(namesOf).map(({ schema, file }) => `import { ${schema} } from './${file}.js';`);
  return files.set('index.ts', `${imports.join('\n')}\n\n${registryCode(events)}\n`);
}
