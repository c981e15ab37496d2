// What was learned of one event, and the names and the module that it is proposed as.
import type { Proposal } from './proposal.js';
import { literal, sampleCode, schemaCode, typeCode } from './proposal-code.js';

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
