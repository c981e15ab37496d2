// What is wrong with what was passed: how to show it, what was meant, text that is no secret, promises that nobody awaits.
import { types } from 'node:util';
import { ConfigurationError } from './errors.js';

/** A private key, or an address with a password, such as that of a database. */
const SECRET = /\bpri_|:\/\/[^/?#]*@|:\/\/[^/?#@]*:[^@]*@|password=/i;

/** Shows a value in an error message: text without secrets, numbers and booleans; otherwise only the type. */
export function show(value: unknown): string {
  if (typeof value === 'string')
    return SECRET.test(value) ? 'a string that may be a secret' : JSON.stringify(value.slice(0, 80));
  if (typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined)
    return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** By its method: promises of another library or realm are not instances of `Promise`. */
export function isThenable<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** Whether it is an array of promises, which nobody awaits. If they reject later, the process does not end. */
export function isUnawaited(value: unknown): boolean {
  if (!Array.isArray(value) || !value.some(isThenable)) return false;
  // Not by their own methods, which run the query of some clients.
  for (const each of value) if (types.isPromise(each)) Promise.prototype.then.call(each, undefined, () => {});
  return true;
}

// The work grows with the product of both lengths, and what was typed may come from a stranger.
const MAX_COMPARED = 100;

/**
 * The closest name by edit distance, if it is close enough to be a typo. Text and names of more than 100 characters are not
 * compared.
 */
export function nearestName(typed: string, names: Iterable<string>): string | undefined {
  if (typed.length > MAX_COMPARED) return undefined;
  let best: string | undefined;
  let least = Math.max(2, Math.floor(typed.length / 3)) + 1;
  for (const name of names) {
    if (name.length > MAX_COMPARED) continue;
    const distance = editDistance(typed.toLowerCase(), name.toLowerCase());
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

/** `' Did you mean "limit"?'`, or nothing. */
export function didYouMean(typed: string, names: Iterable<string>): string {
  const name = nearestName(typed, names);
  return name === undefined ? '' : ` Did you mean "${name}"?`;
}

function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i += 1) {
    const above = row;
    row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (above[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
  }
  return row[to.length] ?? 0;
}

/** Names from other libraries, which edit distance would not match. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['secret', 'privateKey'],
  ['key', 'privateKey'],
  ['signingSecret', 'privateKey'],
  ['webhookSecret', 'privateKey'],
  ['header', 'signatureHeader'],
  ['log', 'logger'],
]);

/**
 * @param prefix what the options belong to, such as `on(): `
 * @throws {ConfigurationError} naming the first option that is not one of the known names
 */
export function refuseUnknownOptions(options: object, known: readonly string[], prefix = ''): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const alias = known.find((name) => name === ALIASES.get(unknown));
  const hint = alias ? ` Did you mean "${alias}"?` : didYouMean(unknown, known);
  const all = known.length > 0 ? ` The options are ${known.join(', ')}.` : '';
  throw new ConfigurationError(`${prefix}Unknown option "${unknown}".${hint}${all}`);
}

// Default_Ignorable_Code_Point has the zero-width characters, the byte-order mark and the fillers; Cf the other formats.
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\u0080-\u009f\p{Zl}\p{Zp}]/u;
/** A space of another width looks like the one on the keyboard. */
const ODD_SPACE = /(?! )\p{Zs}/u;

/** Each names what the person typed. A random secret matches none: only whole words, in a frame. */
const PLACEHOLDERS: readonly (readonly [form: string, pattern: RegExp])[] = [
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the form itself
  ['${…}', /^\$\{[\w .:-]*\}$|\$\{\{? *[A-Za-z_]\w{2,}[^{}]*\}/],
  ['{{…}}', /^\{\{[\w .:|/-]*\}\}$/],
  ['$(…)', /^\$\([\w .:/-]*\)$/],
  ['#{…}', /^#\{[\w .:-]*\}#?$/],
  ['{…}', /^\{[\w .:-]*\}$/],
  ['$NAME', /^\$(?:env:\w+|[A-Z_][A-Z0-9_]*|\w*(?:[Kk]ey|[Ss]ecret))$/],
  ['%NAME%', /^%[A-Za-z_]\w*%$/],
  ['<…>', /^<[\w .:'/-]*>$|^<%.*%>$/s],
  ['__…__', /^(?:__\w+__|@@\w+@@)$/],
  ['[…]', /^\[[\w .:'/-]*\]$/],
  ['***', /^\*+$|\*{4,}|[•●]{2,}/],
  ['…', /…|^\.{2,}$|\.{3,}$/],
  ['xxx', /^(?:[a-z]+[-_])*x{3,}(?:[-_]x+)*$/i],
  ['your_…', /^your(?:[-_ ]|(?:private|secret|live|api)?key)/i],
  [
    'changeme',
    /^(?:change|replace|insert|enter|paste)[-_ ]?(?:me|it|this|with|your|the|key|private|secret|here)(?![a-z0-9])/i,
  ],
  ['…_here', /[-_ ]here$/i],
  ['private_key', /^private[-_ ]?key$/i],
  ['placeholder', /^(?:placeholder|todo|tbd|fixme|redacted)$/i],
];

const MISSING =
  /^(?:undefined|null|none|nil|nan|true|false|\(null\)|<nil>|\[object \w+\]|promise \{ ?<\w+> ?\})$/i;
const VARIABLE = /^(?:process\.env\.)?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|SECRET|TOKEN)$/;
/** What a program was to replace by the secret that it names. */
const REFERENCE =
  /^(?:ref\+)?[a-z][\w+.-]*:\/\/|^(?:encrypted|vault|kms):|^ENC\[|^\$ANSIBLE_VAULT|^!(?:Ref|Sub|GetAtt)\b|^arn:aws[\w-]*:|^@Microsoft\.KeyVault\(|^projects\/[^/]+\/secrets\//;

/** Where secrets are mounted. */
const FILE = /^\/(?:run|var|etc|home|usr|tmp|mnt|opt)\/[\w./-]+$/;

/**
 * What is wrong with the text, without quoting it; undefined if it may be a secret.
 *
 * @param prefix what may stand before the random part
 * @param advice where to get the secret
 */
export function secretFault(text: string, prefix: RegExp, advice: string): string | undefined {
  if (text.startsWith('\ufeff'))
    return 'begins with a byte-order mark (BOM), which is not part of it. Save the file without one.';
  const hidden = (INVISIBLE.exec(text) ?? ODD_SPACE.exec(text))?.[0];
  if (hidden !== undefined)
    return `has an invisible character (${codePoint(hidden)}) in it. Type it again, or paste it as plain text.`;
  if (text.includes('\ufffd'))
    return 'was read in the wrong encoding: it has U+FFFD in it. Read it as UTF-8.';
  if (/^(["'`])\1$/.test(text)) return `is an empty value in quotes. ${advice}`;
  const bare = text.replace(/^["'`](.*)["'`]$/s, '$1').replace(prefix, '');
  if (MISSING.test(bare)) return 'is the text of a missing value. Check the variable that it is read from.';
  if (VARIABLE.test(bare)) return 'is the name of a variable. Pass the value of that variable.';
  if (REFERENCE.test(bare))
    return 'is a reference to a secret, which nothing has resolved. Pass the secret itself.';
  if (FILE.test(bare)) return 'is the path of a file. Read the file, and pass the secret in it.';
  if (isJson(bare)) return 'is JSON. Parse it, and pass the secret in it.';
  const form = PLACEHOLDERS.find(([, pattern]) => pattern.test(bare))?.[0];
  return form && `is a placeholder of the form ${form}: anyone could guess it. ${advice}`;
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function isJson(text: string): boolean {
  if (!/^[{[]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What a byte-order mark of UTF-16 is in the encodings that a file is read with by mistake. */
const MARK = /^(?:\ufeff|\ufffd\ufffd|\u00ff\u00fe|\u00fe\u00ff)/;

/** Whether text of ASCII was saved as UTF-16 and read in another encoding: every second character is a NUL. */
export function isUtf16Ascii(text: string): boolean {
  return /^(?:[^\0]\0){4,}$|^(?:\0[^\0]){4,}$/.test(text.replace(MARK, ''));
}
