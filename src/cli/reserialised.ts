// Finds the way of writing JSON in which a document was signed, when it was parsed and written again since.

type Write = (value: unknown) => string;

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
  [' and with \\uXXXX for <, > and &, as Go writes it', escapeMarkup],
];

/** How the document was written when it was signed; undefined when no way that we know fits. */
export function reserialised(body: Buffer, fits: (bytes: Uint8Array) => boolean): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8').replace(/^\ufeff/, ''));
  } catch {
    return undefined;
  }
  for (const [layout, write] of LAYOUTS) {
    const text = written(write, value);
    if (text === undefined) return undefined;
    const found = ESCAPES.find(([, escapeIn]) =>
      ['', '\n'].some((end) => fits(Buffer.from(escapeIn(text) + end))),
    );
    if (found) return layout + found[0];
  }
  return undefined;
}

/** Undefined for a document so deep that it cannot be written. */
function written(write: Write, value: unknown): string | undefined {
  try {
    return write(value);
  } catch {
    return undefined;
  }
}

/** Line breaks stand only between the parts: inside a text they would be escaped. */
function spaced(value: unknown): string {
  return JSON.stringify(value, null, 1)
    .replace(/,\n */g, ', ')
    .replace(/([[{])\n */g, '$1')
    .replace(/\n *([\]}])/g, '$1');
}

function escapeLetters(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, escaped);
}

function escapeSlashes(text: string): string {
  return text.replaceAll('/', '\\/');
}

function escapeMarkup(text: string): string {
  return text.replace(/[<>&\u2028\u2029]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
