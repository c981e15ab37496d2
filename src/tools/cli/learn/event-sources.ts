// Where the bodies come from that `learn` reads: files, standard input, or the dead letters of an app.
import { readFile } from 'node:fs/promises';
import { CommandError, type Terminal } from '../command.js';
import { type LetterPage, PageError } from '../letter-page.js';
import { allLetters } from '../letter-pages.js';
import type { ShownLetter } from '../letter-text.js';
import type { ProgressBar } from '../progress-bar.js';
import type { EventLearner } from './learn-events.js';

export async function learnFromFiles(learner: EventLearner, files: readonly string[]): Promise<void> {
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new CommandError(`--file ${JSON.stringify(file)} cannot be read (${error.code}).`);
    });
    for (const body of bodiesIn(`--file ${JSON.stringify(file)}`, text)) learner.add(body);
  }
}

export async function learnFromInput(learner: EventLearner, { stdin, stderr }: Terminal): Promise<void> {
  if (stdin.isTTY) stderr.write('Reading bodies from the terminal. End them with Ctrl-D.\n');
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  for (const body of bodiesIn('Standard input', Buffer.concat(chunks).toString())) learner.add(body);
}

/** One body, a list of bodies, or one on each line. The error names the line and shows nothing of it. */
function bodiesIn(source: string, text: string): unknown[] {
  const whole = parsed(text);
  if (whole !== undefined) return Array.isArray(whole) ? whole : [whole];
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const body = parsed(line);
    if (body !== undefined) return [body];
    throw new CommandError(
      `${source} is not JSON (line ${index + 1}). Give one body, a list of bodies, or one body on each line.`,
    );
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return undefined;
  }
}

export interface LetterChoice {
  readonly event: string | undefined;
  readonly since: string | undefined;
  /** Most letters of one event name. */
  readonly limit: number;
}

/** Reads the bodies of unknown and invalid events. Each is revealed, which the app logs. */
export async function learnFromLetters(
  learner: EventLearner,
  page: LetterPage,
  { limit, ...filter }: LetterChoice,
  bar: ProgressBar,
): Promise<void> {
  const ids: string[] = [];
  const counts = new Map<string, number>();
  for (const reason of ['unknown', 'invalid']) {
    for await (const { id, eventName } of allLetters(page, { ...given(filter), reason })) {
      const count = counts.get(eventName) ?? 0;
      if (count < limit) ids.push(id);
      counts.set(eventName, count + 1);
    }
  }
  try {
    for (const [index, id] of ids.entries()) {
      bar.show(index, ids.length);
      const body = await reveal(page, id);
      if (body !== undefined) learner.add(parsed(body));
    }
  } finally {
    bar.end();
  }
}

function given({ event, since }: Omit<LetterChoice, 'limit'>) {
  return { ...(event === undefined ? {} : { event }), ...(since === undefined ? {} : { since }) };
}

/** Undefined for a letter that was processed or discarded meanwhile. */
async function reveal(page: LetterPage, id: string): Promise<string | undefined> {
  try {
    const path = `letters/${encodeURIComponent(id)}/reveal`;
    const { body, base64 } = await page.post<Pick<ShownLetter, 'body' | 'base64'>>(path, {});
    return base64 ? undefined : body;
  } catch (error) {
    if (error instanceof PageError && error.status === 404) return undefined;
    // What is stored is not what was kept. The others can still be read.
    if (error instanceof PageError && error.status === 409) return '';
    throw error;
  }
}
