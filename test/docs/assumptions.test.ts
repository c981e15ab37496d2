// What the documentation of the service does not say stands nowhere as a fact: docs, examples, docstrings.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { listFiles } from '../setup/list-files.js';
import { ROOT } from '../setup/shell.js';

const PAGE = 'docs/what-is-documented.md';
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');

const texts = [
  'README.md',
  ...['docs', 'examples', 'src'].flatMap((folder) =>
    listFiles(join(ROOT, folder)).map((name) => `${folder}/${name}`),
  ),
]
  .filter((name) => /\.(?:md|tsx?)$|openapi\.json$/.test(name))
  // Of the simulator and of the demo, which stand for the service, these sentences are true.
  .filter(
    (name) => !/^(?:src\/simulator|src\/cli|examples\/(?:minimal|with-simulator|ci)|docs\/cli)/.test(name),
  );

interface Fact {
  readonly pattern: RegExp;
  /** A sentence that says it as a fact. */
  readonly said: string;
}

/** What would say as a fact what is an assumption of ours. */
const FACTS: Readonly<Record<string, Fact>> = {
  'that the service retries': {
    pattern:
      /\bthe service(?: will(?: not)?| then| later)? (?:repeats?|retries|resends?|keeps retrying|gives up|has given up|(?:delivers?|sends?|tries)(?: \w+)? again)\b/i,
    said: 'no handler runs, so the service delivers again.',
  },
  'that every attempt has the same id': {
    pattern: /\bthe same on every (?:retry|repetition|attempt|delivery)\b/i,
    said: 'identifies the event; the same on every repetition',
  },
  'that no money moves in the sandbox': {
    pattern: /^(?!.*\bassume\b).*\bno money\b/i,
    said: 'Was triggered in the sandbox: no money moved',
  },
  'that the customer pays': { pattern: /\bpayer\b/i, said: 'The payer. Every field may be null.' },
  'that a delivery has no cookies': {
    pattern: /\bthe service sends no\b/i,
    said: 'the service sends no cookie; the signature is what proves it',
  },
  'that an event can be sent again by hand': {
    pattern: /\bfrom (?:the|its) dashboard of the service\b|\bfrom its dashboard\b/i,
    said: 'In this way resending an event from the dashboard of the service works.',
  },
  'that two keys are valid at once': {
    pattern: /\bsigned with either\b|\btwo (?:private )?keys are valid\b/i,
    said: 'While a key is being replaced, deliveries signed with either are genuine.',
  },
};

/** What makes an assumption, a question or a condition of it. */
const HEDGE = /\b(?:assum|whether|not documented|if the service|given that|how (?:often|long)|after that)/i;

/** Each sentence, however its lines were broken. */
function sentencesOf(text: string): string[] {
  return text
    .replace(/\n\s*(?:\/?\*+|\/\/)?\s*(?=\S)/g, ' ')
    .split(/(?<=[.!?])\s|\s\|\s/)
    .map((sentence) => sentence.trim());
}

const saidIn = (text: string, { pattern }: Fact) =>
  sentencesOf(text).filter((sentence) => pattern.test(sentence) && !HEDGE.test(sentence));

describe('nowhere is said as a fact', () => {
  test.each(Object.entries(FACTS))('%s', (_what, fact) => {
    expect(saidIn(fact.said, fact)).toHaveLength(1);
    const said = texts.flatMap((name) => saidIn(read(name), fact).map((sentence) => `${name}: ${sentence}`));
    expect(said).toEqual([]);
  });

  test.each([
    'after which answers it retries',
    'whether it retries after 4xx',
    'whether an event can be delivered again by hand',
    'whether an event has one id on every retry',
    'whether money moves for a sandbox event',
    'who the `customer` is',
    'whether two private keys are valid at once',
    'whether a delivery has cookies',
  ])('and it has a row on the page of what is documented: %s', (open) => {
    expect(read(PAGE)).toContain(`| ${open}`);
  });
});

describe('the assumption that the service retries', () => {
  test('is stated once', () => {
    expect(texts.filter((name) => read(name).includes('**We assume**'))).toEqual([PAGE]);
  });

  test.each(['README.md', 'docs/delivery.md', 'docs/deploying.md', 'docs/stores.md', 'docs/queues.md'])(
    'is linked from %s',
    (name) => expect(read(name)).toContain('what-is-documented.md#retries'),
  );
});
