// Detects JSON that was parsed and written again after it was signed, and how it was written before.

type Write = (value: unknown) => string;

export interface JsonOutline {
  /** The text ends inside a string, a list or an object. */
  readonly isCut: boolean;
  /** The sum of the levels of indentation of all lines, with each value on a line of its own. */
  readonly indentation: number;
}

// With more, a small body becomes megabytes of spaces. An ordinary event has a hundred.
const MAX_INDENTATION = 1_000_000;

const LAYOUTS: readonly (readonly [string, Write])[] = [
  ['without spaces', (value) => JSON.stringify(value)],
  ['with a space after each comma and colon, as Python writes it', spaced],
  ['indented by two spaces', (value) => JSON.stringify(value, null, 2)],
  ['indented by four spaces', (value) => JSON.stringify(value, null, 4)],
  ['indented by tabs', (value) => JSON.stringify(value, null, '\t')],
];

const ESCAPES: readonly (readonly [string, (text: string) => string])[] = [
  ['', (text) => text],
  [' and with \\uXXXX for letters beyond ASCII', escapeLetters],
  [' and with \\/ for slashes, as PHP writes it', escapeSlashes],
  [' and with \\/ and \\uXXXX, as PHP writes it', (text) => escapeSlashes(escapeLetters(text))],
  [
    ' and with \\uXXXX for <, > and &, as Go writes it',
    (text) => text.replace(/[<>&\u2028\u2029]/g, unicodeEscape),
  ],
];

/** How the document was written when it was signed; undefined when no known way matches. */
export function detectReserialization(
  body: Buffer,
  matches: (bytes: Uint8Array) => boolean,
): string | undefined {
  const received = body.toString('utf8').replace(/^\ufeff/, '');
  const value = attempt(() => ({ parsed: JSON.parse(received) }));
  if (!value) return undefined;
  const indentable = outlineJson(received).indentation <= MAX_INDENTATION;
  for (const [layout, write] of indentable ? LAYOUTS : LAYOUTS.slice(0, 1)) {
    // A very deep document can be parsed, and not written.
    const text = attempt(() => write(value.parsed));
    if (text === undefined) return undefined;
    const found = ESCAPES.find(([, escapeIn]) =>
      ['', '\n'].some((end) => matches(Buffer.from(escapeIn(text) + end))),
    );
    if (found) return layout + found[0];
  }
  return undefined;
}

function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Every line break is layout: inside a string it would be escaped. */
function spaced(value: unknown): string {
  return JSON.stringify(value, null, 1)
    .replace(/,\n */g, ', ')
    .replace(/([[{])\n */g, '$1')
    .replace(/\n *([\]}])/g, '$1');
}

function escapeLetters(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, unicodeEscape);
}

function escapeSlashes(text: string): string {
  return text.replaceAll('/', '\\/');
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

// A string, whose last quote may be missing, or what changes the level of indentation or begins a line.
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*("?)|[[\]{},]/gs;

/** Reads the outline of a JSON text in one pass, without parsing it. */
export function outlineJson(text: string): JsonOutline {
  let [depth, indentation] = [0, 0];
  for (const [token, lastQuote] of text.matchAll(TOKEN)) {
    if (lastQuote === '') return { isCut: true, indentation };
    if (lastQuote !== undefined) continue;
    if (token === '[' || token === '{') depth += 1;
    if (token === ']' || token === '}') depth -= 1;
    indentation += Math.max(0, depth);
  }
  return { isCut: depth > 0, indentation };
}
