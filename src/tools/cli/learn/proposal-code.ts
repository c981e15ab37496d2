// A proposal as TypeScript: a zod schema, a type and a made-up value, in one module or several.
import type { Proposal, ProposedField, Variant } from './proposal.js';

/** As a string literal that is safe in a source and in a terminal: nothing invisible is in it. */
function literal(text: string): string {
  return JSON.stringify(text).replace(/[^\x20-\x7e\p{L}\p{N}\p{P}\p{S}]/gu, escaped);
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

function keyCode(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : literal(key);
}

/** Lines between brackets, one step deeper; on one line when there is nothing between them. */
function block(open: string, lines: readonly string[], close: string): string {
  if (lines.length === 0) return open + close;
  return [open, ...lines.map((line) => line.replace(/^/gm, '  ')), close].join('\n');
}

function schemaCode({ nullable, variants }: Proposal): string {
  const codes = variants.map(variantSchema);
  // What was null each time is something else some other time.
  const [only = 'z.unknown()'] = codes;
  const code = codes.length > 1 ? `z.union([${codes.join(', ')}])` : only;
  return nullable && codes.length > 0 ? `${code}.nullable()` : code;
}

function variantSchema(variant: Variant): string {
  switch (variant.type) {
    case 'text':
      return 'z.string()';
    case 'number':
      return 'z.number()';
    case 'boolean':
      return 'z.boolean()';
    case 'list':
      return variant.element
        ? `z.array(${schemaCode(variant.element)})`
        : EMPTY_LIST[emptyList(variant)].schema;
    case 'map': {
      const lines = variant.fields.map(({ key, optional, proposal }) => {
        const code = `${keyCode(key)}: ${schemaCode(proposal)}${optional ? '.optional()' : ''},`;
        return noted(proposal, code);
      });
      return block('z.looseObject({', [...lines, ...leftOutNote(variant.leftOut)], '})');
    }
  }
}

/** A list that was empty each time: PHP writes an empty map like that. */
const EMPTY_LIST = {
  'beside a map': {
    schema: 'z.array(z.never())',
    type: 'Array<never>',
    note: 'Came as a map and as an empty list.',
  },
  alone: {
    schema: 'z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())])',
    type: 'Array<unknown> | Record<string, unknown>',
    note: 'Came as an empty list, which may stand for an empty map.',
  },
} as const;

function emptyList({ mapToo }: Extract<Variant, { type: 'list' }>): keyof typeof EMPTY_LIST {
  return mapToo ? 'beside a map' : 'alone';
}

function noted({ nullable, variants }: Proposal, code: string): string {
  const notes = variants.flatMap((variant) =>
    variant.type === 'list' && !variant.element ? [EMPTY_LIST[emptyList(variant)].note] : [],
  );
  const note = nullable && variants.length === 0 ? 'Was null each time.' : notes[0];
  return note === undefined ? code : `// ${note}\n${code}`;
}

function leftOutNote(count: number): string[] {
  if (count === 0) return [];
  return [`// ${count} more ${count === 1 ? 'key' : 'keys'}, which may be data.`];
}

function typeCode({ nullable, variants }: Proposal): string {
  if (variants.length === 0) return 'unknown';
  return [...variants.map(variantType), ...(nullable ? ['null'] : [])].join(' | ');
}

function variantType(variant: Variant): string {
  switch (variant.type) {
    case 'text':
      return variant.words.length === 0
        ? 'string'
        : [...variant.words.map(literal), '(string & {})'].join(' | ');
    case 'number':
    case 'boolean':
      return variant.type;
    case 'list':
      return variant.element ? `Array<${typeCode(variant.element)}>` : EMPTY_LIST[emptyList(variant)].type;
    case 'map':
      return variant.fields.length === 0
        ? 'Record<string, unknown>'
        : block('{', variant.fields.map(fieldType), '}');
  }
}

function fieldType({ key, optional, proposal }: ProposedField): string {
  const type = typeCode(proposal);
  return optional ? `${keyCode(key)}?: ${type} | undefined;` : `${keyCode(key)}: ${type};`;
}

function sampleCode({ variants }: Proposal): string {
  const [variant] = variants;
  switch (variant?.type) {
    case undefined:
      return 'null';
    case 'text':
      return literal(variant.words[0] ?? variant.sample);
    case 'number':
      return String(variant.sample);
    case 'boolean':
      return 'true';
    case 'list':
      return variant.element ? `[${sampleCode(variant.element)}]` : '[]';
    case 'map':
      return block(
        '{',
        variant.fields.map(({ key, proposal }) => `${keyCode(key)}: ${sampleCode(proposal)},`),
        '}',
      );
  }
}

export interface LearnedEvent {
  readonly name: string;
  /** How many events it was learned from. */
  readonly count: number;
  readonly proposal: Proposal;
  /** Names in the code, such as `refundSucceeded`; no other event has them. */
  readonly identifier: string;
}

/** Names of schema, type and fixture in the code. */
function namesIn({ identifier }: LearnedEvent) {
  const type = identifier.replace(/^./, (first) => first.toUpperCase());
  return { schema: `${identifier}Payload`, type: `${type}Payload`, fixture: `${identifier}Fixture` };
}

/** An identifier for each name: what is neither letter nor digit ends a word. */
export function identifiersFor(names: readonly string[]): Map<string, string> {
  // `index.ts` has all of them.
  const taken = new Set(['index']);
  const identifierOf = (name: string) => {
    const words = name.match(/[A-Za-z0-9]+/g) ?? [];
    const joined = words.map((word, index) => (index === 0 ? word.toLowerCase() : capital(word))).join('');
    const base = /^[a-z]/.test(joined) ? joined.slice(0, 60) : `event${joined}`.slice(0, 60);
    let identifier = base;
    // File names are made of it, and some file systems do not tell the cases apart.
    for (let count = 2; taken.has(identifier.toLowerCase()); count += 1) identifier = `${base}${count}`;
    taken.add(identifier.toLowerCase());
    return identifier;
  };
  return new Map(names.map((name) => [name, identifierOf(name)]));
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase();
}

const HEAD = `// Proposed by \`payment-webhooks learn\`. Every value is made up; the names of fields are those of the events.
import { z } from 'zod';`;

export function eventCode(event: LearnedEvent): string {
  const { count, proposal } = event;
  const { schema, type, fixture } = namesIn(event);
  return `/** Fits the payload of ${count === 1 ? 'the one event' : `the ${count} events`} that it was learned from. */
export const ${schema} = ${schemaCode(proposal)};

export type ${type} = ${typeCode(proposal)};

/** Made up: \`fixtures.event(name, ${fixture})\` of payment-webhooks/testing makes an event of it. */
export const ${fixture}: ${type} = ${sampleCode(proposal)};`;
}

/** One module with all of them. */
export function moduleCode(events: readonly LearnedEvent[]): string {
  return `${[HEAD, ...events.map(eventCode), registryCode(events)].join('\n\n')}\n`;
}

function registryCode(events: readonly LearnedEvent[]): string {
  const lines = events.map((event) => `  ${literal(event.name)}: ${namesIn(event).schema},`);
  return ['/** For `receiver({ events })`. */', 'export const events = {', ...lines, '};'].join('\n');
}

/** A module for each event, and `index.ts` with all of them: the text by the name of the file. */
export function moduleFiles(events: readonly LearnedEvent[]): Map<string, string> {
  const files = events.map((event): [string, string] => [
    `${fileName(event)}.ts`,
    `${HEAD}\n\n${eventCode(event)}\n`,
  ]);
  const imports = events.map(
    (event) => `import { ${namesIn(event).schema} } from './${fileName(event)}.js';`,
  );
  return new Map([...files, ['index.ts', `${imports.join('\n')}\n\n${registryCode(events)}\n`]]);
}

function fileName({ identifier }: LearnedEvent): string {
  return identifier.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
