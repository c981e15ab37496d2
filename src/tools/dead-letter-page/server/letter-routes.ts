// The JSON of the page: list, show, reveal, replay, discard. Who does it is logged.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DeadLetter } from '../../../claims/dead-letter-store.js';
import { FILTERS } from '../../../dead-letters/dead-letter-filter.js';
import { ConfigurationError, refuseUnknownOptions } from '../../../errors.js';
import { shorten, writeLog } from '../../../logger.js';
import { HttpError } from '../../pages/http-error.js';
import { queryOf } from '../../pages/request.js';
import { diagnose } from './diagnose.js';
import { letterJson, maskedContent, revealed } from './letter-json.js';
import { sendJson } from './page-answers.js';
import { asked, askedInQuery } from './page-filter.js';
import type { PageSettings } from './page-options.js';
import { pathOf, refusePerhapsEmpty, requestBody } from './page-request.js';
import { streamReplay } from './replay-stream.js';

const DEFAULT_LIMIT = 50;

/** A request of a user whom `authorize` let in. */
export interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly user: string;
}

interface Route {
  readonly path: RegExp;
  readonly methods: readonly string[];
  /** Resolves to the JSON to answer; undefined where it has answered itself. */
  readonly work: (visit: Visit, id: string) => Promise<object | undefined>;
}

const READ = ['GET', 'HEAD'];
const WRITE = ['POST'];

export class LetterRoutes {
  readonly #settings: PageSettings;
  readonly #routes: readonly Route[] = [
    { path: /^\/letters$/, methods: READ, work: (visit) => this.#list(visit) },
    { path: /^\/summary$/, methods: READ, work: (visit) => this.#summary(visit) },
    { path: /^\/letters\/([^/]+)$/, methods: READ, work: (_visit, id) => this.#detail(id) },
    { path: /^\/letters\/([^/]+)\/reveal$/, methods: WRITE, work: (visit, id) => this.#reveal(visit, id) },
    { path: /^\/replay$/, methods: WRITE, work: (visit) => this.#replay(visit) },
    { path: /^\/discard$/, methods: WRITE, work: (visit) => this.#discard(visit) },
  ];

  constructor(settings: PageSettings) {
    this.#settings = settings;
  }

  /** @returns false for any other path @throws {HttpError} for what cannot be answered */
  async serve(visit: Visit): Promise<boolean> {
    const { request, response } = visit;
    const path = pathOf(request);
    const route = this.#routes.find((one) => one.path.test(path));
    if (!route) return false;
    if (!route.methods.includes(request.method ?? '')) {
      if (!response.headersSent) response.setHeader('Allow', route.methods.join(', '));
      throw new HttpError(405, `Use ${route.methods.join(' or ')} for this path.`);
    }
    const json = await route.work(visit, decoded(route.path.exec(path)?.[1]));
    if (json) sendJson(request, response, { status: 200, json });
    return true;
  }

  async #list({ request }: Visit): Promise<object> {
    const { filter, rest } = askedInQuery(queryOf(request), ['discarded', 'limit', 'after']);
    const limit = rest.limit === undefined ? DEFAULT_LIMIT : Number(rest.limit);
    const after = rest.after as string | undefined;
    const kept = this.#settings.letters;
    const { letters, next } = await kept.page(filter, { limit, after });
    return { letters: letters.map((letter) => letterJson(letter, kept)), next: next ?? null };
  }

  async #summary({ request, user }: Visit): Promise<object> {
    const { letters, eventNames } = this.#settings;
    const { filter } = askedInQuery(queryOf(request), ['discarded']);
    const { total, oldest, groups } = await letters.count(filter);
    return { total, oldest: oldest ?? null, groups, names: eventNames, user };
  }

  async #detail(id: string): Promise<object> {
    const { letters } = this.#settings;
    const letter = await this.#letter(id);
    const content = await letters.read(letter.id);
    if (content.status === 'gone') throw gone(letter.id);
    const diagnosis = await diagnose(letter, letters);
    return { letter: letterJson(letter, letters), ...maskedContent(content), diagnosis };
  }

  async #reveal(visit: Visit, given: string): Promise<object> {
    const letter = await this.#letter(given);
    refuseUnknownOptions(await requestBody(visit.request), []);
    const content = await this.#settings.letters.read(letter.id);
    if (content.status === 'gone') throw gone(letter.id);
    if (content.status === 'unreadable')
      throw new HttpError(409, 'What is stored is not what was kept, so there is nothing to show.');
    const { id, eventId, eventName } = letter;
    const fields = { deadLetterId: shorten(id), eventId: shorten(eventId), eventName: shorten(eventName) };
    this.#audit(visit, fields, 'letter revealed');
    return revealed(content);
  }

  async #replay(visit: Visit): Promise<undefined> {
    const { request, response } = visit;
    const fields = await requestBody(request);
    refusePerhapsEmpty(request, fields);
    const { filter, rest } = asked(fields, ['dryRun', 'keys', 'concurrency']);
    const report = await streamReplay(this.#settings.letters, { ...filter, ...rest }, response);
    if (report?.dryRun) return;
    const { events: _events, dryRun: _dryRun, ...counts } = report ?? {};
    this.#audit(visit, report ? counts : { failure: true }, 'letters replayed');
  }

  async #discard(visit: Visit): Promise<object> {
    const { letters } = this.#settings;
    const { filter, rest } = asked(await requestBody(visit.request), ['because']);
    if (Object.keys(filter).length === 0) {
      throw new ConfigurationError(
        `Say which letters to discard: ${FILTERS.join(', ')}. All of them are event: "*".`,
      );
    }
    const why = { by: visit.user, because: rest.because as string };
    // First all ids: nobody has seen a letter that is kept meanwhile.
    const ids: string[] = [];
    for await (const { id } of letters.list(filter)) ids.push(id);
    let discarded = 0;
    try {
      for (const id of ids) if (await letters.discard(id, why)) discarded += 1;
    } catch (error) {
      // These are gone, whatever became of the others.
      if (discarded > 0) this.#audit(visit, { discarded, failure: true }, 'letters discarded');
      throw error;
    }
    this.#audit(visit, { discarded }, 'letters discarded');
    return { discarded };
  }

  /** @throws {HttpError} 404 */
  async #letter(id: string): Promise<DeadLetter> {
    // In a filter it would be a mistake; an address that nobody made leads nowhere.
    if (id.includes('\0')) throw gone(id);
    const { letters } = await this.#settings.letters.page({ id }, { limit: 1 });
    if (!letters[0]) throw gone(id);
    return letters[0];
  }

  #audit({ request, user }: Visit, fields: object, message: string): void {
    writeLog(this.#settings.logFor(request), 'info', { user, ...fields }, message);
  }
}

/** @throws {HttpError} 400 for a path that is no text */
function decoded(part = ''): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new HttpError(400, 'The path of the request is malformed.');
  }
}

function gone(id: string): HttpError {
  return new HttpError(
    404,
    `There is no letter ${JSON.stringify(id.slice(0, 100))}. It was processed or discarded, or its time is over.`,
  );
}
