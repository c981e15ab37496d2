// The API client of the page. Paths are relative, because the page can be mounted at any path.
// Imports only types from the receiver, so that its code stays out of the bundle.
import type { ReplayProgress, ReplayReport } from '../../../dead-letters/replay.js';
import { ApiError, apiClient } from '../../web/components/api-client.js';
import type {
  CauseCount,
  JsonLetter as Letter,
  LetterContent,
  LetterList,
  Revealed,
} from '../server/letter-json.js';
import { type Filter, filterOf, formatFilter } from './route.js';

export type { Letter, LetterContent, LetterList, Revealed };

/** How many letters have the same reason and event name. */
interface Group {
  readonly reason: string;
  readonly eventName: string;
  readonly count: number;
  readonly oldest: string;
}

/** The group of the remaining names, when there are too many to count each. */
export const OTHER_NAMES = '…';

export interface Summary {
  readonly total: number;
  readonly groups: readonly Group[];
  readonly names: readonly string[];
  readonly user: string;
}

interface Causes {
  readonly causes: readonly CauseCount[];
  /** False if there are too many letters to read each. */
  readonly complete: boolean;
}

interface ReplayCall {
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ReplayProgress) => void;
}

export type Target = { readonly id: string } | Filter;

const signedOut = 'If you were signed out, reload the page.';

const request = apiClient({
  name: 'The server',
  ifSilent: `Check that it is running. ${signedOut}`,
  ifUnclear: signedOut,
});

export const api = {
  letters: (filter: Filter, discarded: boolean, after?: string) =>
    ask<LetterList>('GET', `letters?${formatFilter(filter, { discarded, after })}`),
  summary: (filter: Filter, discarded: boolean) =>
    ask<Summary>('GET', `summary?${formatFilter(filter, { discarded })}`),
  causes: (filter: Filter, discarded: boolean) =>
    ask<Causes>('GET', `causes?${formatFilter(filter, { discarded })}`),
  async isThere(id: string): Promise<boolean> {
    const { letters } = await ask<LetterList>('GET', `letters?${new URLSearchParams({ id })}`);
    return letters.length > 0;
  },
  letter: (id: string) => ask<LetterContent>('GET', pathOf(id)),
  reveal: (id: string) => ask<Revealed>('POST', `${pathOf(id)}/reveal`, {}),
  /** @returns how many were discarded: 0 if the letter is gone */
  async discard(id: string, because: string): Promise<number> {
    return (await ask<{ discarded: number }>('POST', 'discard', { id, because })).discarded;
  },
  async replay(target: Target, { dryRun, signal, onProgress }: ReplayCall): Promise<ReplayReport> {
    const which = 'id' in target ? { id: target.id } : filterOf(target);
    const response = await request('POST', 'replay', { ...which, dryRun }, signal);
    for await (const line of readLines(response)) {
      const { progress, report, error } = JSON.parse(line);
      if (error) throw new ApiError(error.message);
      if (report) return report;
      if (progress) onProgress(progress);
    }
    throw new ApiError('The connection was lost.');
  },
};

function pathOf(id: string): string {
  return `letters/${encodeURIComponent(id)}`;
}

async function ask<Data>(method: string, path: string, body?: object): Promise<Data> {
  const response = await request(method, path, body);
  // A proxy may answer with a sign-in page.
  return response.json().catch(() => {
    throw new ApiError(`The answer of the server is not JSON. ${signedOut}`);
  });
}

/** Yields complete lines, and ends early if the connection is lost. */
async function* readLines({ body }: Response): AsyncGenerator<string, void> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const read = await reader?.read().catch(() => undefined);
    if (!read || read.done) return;
    const lines = (rest + read.value).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
