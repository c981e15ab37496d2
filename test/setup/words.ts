// The words that this project does not use, and what to write instead.
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { listFiles } from './list-files.js';
import { parseSource, visit } from './sources.js';

export interface Finding {
  /** `file:line`, or the file alone when the word is in its name. */
  readonly where: string;
  readonly word: string;
  /** What to write. */
  readonly write: string;
}

/** Plain English, in every text. */
const ENGLISH: readonly (readonly [pattern: RegExp, write: string])[] = [
  [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
  // A field of the JSON that commands print is called `cure`, and keeps its name.
  [/\b(?:a|and|each|its|the|their) cures?\b/i, 'fix, or hint'],
  [/\b(?:is|are|was|were) away\b/i, 'is down'],
  [/\banew\b/i, 'again'],
  [/\bwhoever\b/i, 'if you, or who'],
  [/\b(?:comes?|came|coming) again\b/i, 'is retried, or is delivered again'],
  [/(?<!\bthere )\b(?:is|are|was|were) none\b(?! of)/i, 'is not a …, or is invalid'],
  [/\bl(?:et|ets|etting) go of\b/i, 'release, or delete'],
  [/\bbears? a second\b/i, 'is idempotent'],
  [/\brepetitions?\b/i, 'retry'],
  [/\bno cunning\b/i, 'reference model'],
  [
    /\b[Gg]ive (?:text|one like|one such|at (?:least|most)|milliseconds|an? (?:list|array|string|function|object|number|integer|name|path|key)\b)/,
    'Pass a string, an array, …',
  ],
  [/\btext (?:like|such as) [`"']/, 'a string'],
  [/\bwhole numbers?\b/i, 'integer'],
  [/\b(?:is|are) (?:not|no) text\b|`ms`-style text/, 'is not a string'],
  [/\b(?:you|we|they)['’](?:d|ll|re|ve)\b/i, 'do not, you will, …'],
  [/\b(?:do|does|did|is|are|was|were|would|should|could|has|have|had|ca|wo)n['’]t\b/i, 'do not, you will, …'],
];

/** Old names, as a part of identifiers and of file names: `courier` is also in `CourierTools` and `test-courier.ts`. */
const NAMES: readonly (readonly [name: string, write: string])[] = [
  ['adder', 'add button'],
  ['battery', 'checks'],
  ['conduct-job', 'process job'],
  ['courier', 'deliverer'],
  ['form-end', 'form footer'],
  ['happened-event', 'SimulatedEvent'],
  ['keyring', 'credentials, or keys'],
  ['key-ring', 'credentials, or keys'],
  ['last-words', 'refusal headers'],
  ['opening-lines', 'banner'],
  ['owed', 'expected'],
  ['store-promise', 'contract case'],
  ['timetable', 'scheduler'],
  ['turnstile', 'semaphore'],
];

/** Old types. Before an ordinary word they may be the start of a sentence. */
const TYPES: readonly (readonly [type: string, write: string])[] = [
  ['Asking', 'call of a store'],
  ['Bid', 'claim parameters'],
  ['Conducted', 'process job'],
  ['Loan', 'checked-out client'],
  ['Manner', 'fault'],
  ['Parcel', 'request'],
  ['Refusal', 'HttpError'],
  ['Traffic', 'in-flight limiter'],
  ['Trial', 'contract context'],
  ['Unanswered', 'StoreFailure'],
];

const WORDS: readonly (readonly [pattern: RegExp, write: string])[] = [
  ...ENGLISH,
  ...NAMES.map(([name, write]) => [anyCase(name), write] as const),
  ...TYPES.map(([type, write]) => [new RegExp(`\\b${type}\\b(?! [a-z])`), write] as const),
  [/\bepoch\(\)/, 'now()'],
];

/** `key-ring` as keyRing, KeyRing, key-ring and key_ring, alone or as a part of a longer name. */
function anyCase(name: string): RegExp {
  const [first = ['', ''], ...others] = name.split('-').map((word) => {
    const [upper, lower, rest] = [word[0]?.toUpperCase(), word[0], word.slice(1)];
    return [
      `(?<![a-zA-Z])[${upper}${lower}]${rest}|(?<=[a-z0-9])${upper}${rest}`,
      `[-_]?[${upper}${lower}]${rest}`,
    ];
  });
  return new RegExp(`(?:${first[0]})${others.map(([, inside]) => inside).join('')}s?(?![a-z])`);
}

/** The words in a text, line by line. */
export function findWords(file: string, text: string): Finding[] {
  return text.split('\n').flatMap((line, index) =>
    WORDS.flatMap(([pattern, write]) => {
      const [word] = pattern.exec(line) ?? [];
      return word === undefined ? [] : [{ where: `${file}:${index + 1}`, word, write }];
    }),
  );
}

const TEXT = /\.(?:cjs|css|html|js|json|lua|md|mjs|sql|tsx?|ya?ml)$/;

/** The words in a file: in all its text and in its name; of a test in the names of its tests. */
export function wordsOf(root: string, file: string): Finding[] {
  const inName = findWords(file, file).map(({ word, write }) => ({ where: file, word, write }));
  const text = readFileSync(`${root}/${file}`, 'utf8');
  return [...inName, ...(file.startsWith('test/') ? inTestNames(file, text) : findWords(file, text))];
}

/** Every text file below a folder or file, without what its users install and build. */
export function textFiles(root: string, place: string): string[] {
  if (extname(place) !== '') return [place];
  return listFiles(`${root}/${place}`)
    .filter((name) => TEXT.test(name) && !/(?:^|\/)(?:node_modules|dist|\.next)\//.test(name))
    .map((name) => `${place}/${name}`);
}

interface Call {
  readonly type: string;
  readonly callee?: Call & { readonly value?: string; readonly object?: Call };
  readonly arguments?: readonly { readonly expression: Literal }[];
}

interface Literal {
  readonly type: string;
  readonly value?: string;
  readonly quasis?: readonly { readonly cooked: string }[];
  readonly span: { readonly start: number };
}

/** The words in what `test`, `it` and `describe` are called with, also through `each`. */
export function inTestNames(file: string, text: string): Finding[] {
  if (!/\.tsx?$/.test(file)) return [];
  const { module, lineAt } = parseSource(file, text);
  const findings: Finding[] = [];
  visit<Call>(module.body, (node) => {
    const name =
      node.type === 'CallExpression' && isTest(node.callee) ? node.arguments?.[0]?.expression : undefined;
    if (!name) return;
    const words =
      name.type === 'StringLiteral' ? name.value : name.quasis?.map(({ cooked }) => cooked).join(' ');
    for (const found of findWords(file, words ?? ''))
      findings.push({ ...found, where: `${file}:${lineAt(name.span.start)}` });
  });
  return findings;
}

function isTest(callee: Call['callee']): boolean {
  if (!callee) return false;
  if (callee.type === 'Identifier') return /^(?:describe|it|test)$/.test(callee.value ?? '');
  return isTest((callee.type === 'MemberExpression' ? callee.object : callee.callee) as Call['callee']);
}
