// What is proposed for events as TypeScript modules: for each a zod schema, a type and a made-up value.
import { literal, type Proposal } from './proposal.js';

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

/** What is neither letter nor digit ends a word. @param taken identifiers in lower case; this one is added */
export function identifierOf(name: string, taken: Set<string>): string {
  const capital = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase();
  const [first = '', ...others] = name.match(/[A-Za-z0-9]+/g) ?? [];
  const joined = [first.toLowerCase(), ...others.map(capital)].join('');
  const base = (/^[a-z]/.test(joined) ? joined : `event${joined}`).slice(0, 60);
  let identifier = base;
  // File names are made of it, and some file systems do not tell the cases apart.
  for (let count = 2; taken.has(identifier.toLowerCase()); count += 1) identifier = `${base}${count}`;
  taken.add(identifier.toLowerCase());
  return identifier;
}

const HEAD = `// Proposed by \`payment-webhooks learn\`. Every value is made up; the names of fields are those of the events.
import { z } from 'zod';`;

export function eventCode(event: LearnedEvent): string {
  const { count, proposal } = event;
  const { schema, type, fixture } = namesIn(event);
  return `/** Fits the payload of ${count === 1 ? 'the one event' : `the ${count} events`} that it was learned from. */
export const ${schema} = ${proposal.schema};

export type ${type} = ${proposal.type};

/** Made up: \`fixtures.event(name, ${fixture})\` of payment-webhooks/testing makes an event of it. */
export const ${fixture}: ${type} = ${proposal.sample};`;
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
  const files = new Map(events.map((event) => [`${fileName(event)}.ts`, `${HEAD}\n\n${eventCode(event)}\n`]));
  const imports = events.map(
    (event) => `import { ${namesIn(event).schema} } from './${fileName(event)}.js';`,
  );
  return files.set('index.ts', `${imports.join('\n')}\n\n${registryCode(events)}\n`);
}

function fileName({ identifier }: LearnedEvent): string {
  return identifier.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
