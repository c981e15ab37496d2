// The messages that a person may read, taken from the source: errors, hints, log lines and what commands print.
import { readFileSync } from 'node:fs';
import { listFiles } from './list-files.js';
import { parseSource, visit } from './sources.js';
import { HOLE, NOTHING, type Node, TextReader } from './text-reader.js';

export interface Message {
  /** The class of the error, or what kind of text it is. */
  readonly kind: string;
  /** What is filled in at run time is shown as {…}, and a choice of texts as {one | other}. */
  readonly text: string;
}

const ERROR = /(?:Error|Failure|Refusal|Refused|Rejection)$/;
/** Functions that take a message, by name. */
const CALLS: ReadonlyMap<string, string> = new Map([
  ['writeLog', 'log'],
  ['warn', 'log'],
  ['emitWarning', 'warning'],
  ['refuse', 'error'],
  ['print', 'terminal'],
  ['confirm', 'terminal'],
  ['refine', 'issue'],
  ['regex', 'issue'],
  ['custom', 'issue'],
]);
/** Properties that hold a message, by name. */
const PROPERTIES: ReadonlySet<string> = new Set(['advice', 'cure', 'fix', 'hint', 'message']);

/** Every message below a folder, by file. */
export function readMessages(root: string): Map<string, readonly Message[]> {
  const files = listFiles(root).filter((name) => /\.tsx?$/.test(name));
  return new Map(
    files.flatMap((name) => {
      const messages = messagesOf(name, readFileSync(`${root}/${name}`, 'utf8'));
      return messages.length > 0 ? [[name, messages]] : [];
    }),
  );
}

/** Exported so that it can be tested on a text. */
export function messagesOf(name: string, text: string): readonly Message[] {
  const { module } = parseSource(name, text);
  const reader = new TextReader(module.body);
  const found = new Map<string, Message>();
  const add = (kind: string, value: unknown) => {
    // Of an object that an error is given, the error comes first, and its class says more.
    for (const message of reader.textsIn(value).filter(isMessage))
      if (!found.has(message)) found.set(message, { kind, text: message });
  };
  visit<Node>(module.body, (node) => {
    if (node.type === 'NewExpression') {
      const { value } = node.callee as Node;
      if (ERROR.test(String(value))) add(String(value), node.arguments);
    } else if (node.type === 'CallExpression') {
      const { type, value, object, property } = node.callee as Node;
      const callee = type === 'MemberExpression' ? (property as Node).value : value;
      const kind = CALLS.get(String(callee));
      if (kind) add(kind, node.arguments);
      // `HttpError.invalid(…)` makes an error too.
      const owner = String((object as Node | undefined)?.value);
      if (type === 'MemberExpression' && ERROR.test(owner)) add(owner, node.arguments);
    } else if (node.type === 'KeyValueProperty') {
      const key = String((node.key as Node).value);
      if (PROPERTIES.has(key)) add(key === 'message' ? 'error' : 'hint', node.value);
    }
  });
  return [...found.values()];
}

/** Two words at least, and not all of it in upper case: no code, no name, no separator. */
function isMessage(text: string): boolean {
  return /[a-z]{2}/.test(text) && /\S\s+\S/.test(text);
}

/** Every message, file by file, to be read aloud. */
export function messagesPage(messages: ReadonlyMap<string, readonly Message[]>): string {
  const files = [...messages].map(([file, rows]) =>
    [`src/${file}`, ...rows.map(({ kind, text }) => `  ${kind}: ${text.replace(/\s+/g, ' ').trim()}`)].join(
      '\n',
    ),
  );
  return [
    `${HOLE} is filled in at run time; {one | other} is one of these texts, and ${NOTHING} is no text.`,
    ...files,
  ].join('\n\n');
}
