// `explain`: prints what an error code means and what to do, from docs/errors.md.
import { ANSWERS, type ErrorCode } from '../../errors.js';
import { didYouMean } from '../../misuse.js';
import { command, jsonOption, UsageError } from './command.js';
import { docs } from './packaged.js';
import { table } from './print.js';

const CODES = Object.keys(ANSWERS) as ErrorCode[];

export const explain = command({
  about:
    'Prints what a code means and what to do: the code of a log line, an error or an answer. Without a code it lists all of them. The text is the section of docs/errors.md.',
  arguments: [{ name: 'CODE', about: 'such as SIGNATURE_MISMATCH', optional: true }],
  options: { json: jsonOption },
  examples: {
    'payment-webhooks explain SIGNATURE_MISMATCH': 'what it means, and what to do',
    'payment-webhooks explain': 'every code',
  },
  async run({ positionals: [typed] }) {
    if (typed === undefined) {
      const values = CODES.map(answerOf);
      return { values, text: table(values.map(({ code, status, message }) => [code, `${status}`, message])) };
    }
    const code = codeOf(typed);
    const text = asText(sectionOf(code));
    return { values: [{ ...answerOf(code), text }], text: `${code}\n\n${text}` };
  },
});

function answerOf(code: ErrorCode) {
  // It cannot be answered, so its record has status 0 as well.
  return { code, ...ANSWERS[code], ...(code === 'BODY_ABORTED' && { status: 0 }) };
}

/** Accepts any case, and hyphens for underscores. */
function codeOf(typed: string): ErrorCode {
  const wanted = typed.toUpperCase().replaceAll('-', '_');
  const code = CODES.find((known) => known === wanted);
  if (code) return code;
  const shown = JSON.stringify(typed.slice(0, 80));
  throw new UsageError(
    `CODE ${shown} does not exist.${didYouMean(wanted, CODES)} The codes are ${CODES.join(', ')}.`,
  );
}

function sectionOf(code: ErrorCode): string {
  const [, section] = docs().get('errors.md')?.split(`\n## ${code}\n`) ?? [];
  return (section?.split(/\n## /)[0] ?? ANSWERS[code].message).trim();
}

/** Markdown for a terminal: code is indented, and a link is followed by its page. */
function asText(markdown: string): string {
  return markdown
    .replace(/^```.*\n([\s\S]*?)^```$/gm, (_fence, code: string) => code.trimEnd().replace(/^(?=.)/gm, '  '))
    .replace(/\[([^\]]+)\]\(#[^)]*\)/g, '$1')
    .replace(/\[([^\]]+)\]\(([^)#]+)(?:#[^)]*)?\)/g, '$1 (docs/$2)');
}
