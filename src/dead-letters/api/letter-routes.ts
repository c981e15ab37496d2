// The JSON of the page: letters to list and see, and what can be done with them. Who does it is logged.
import type { Request, RequestHandler, Response, Router } from 'express';
import { shorten, writeLog } from '../../logger.js';
import { refuseUnknownOptions } from '../../options/unknown-option.js';
import { HttpError } from '../../pages/http-error.js';
import { methodNotAllowed, param, queryOf, route } from '../../pages/route.js';
import type { DeadLetter } from '../dead-letter-store.js';
import { diagnose } from './diagnose.js';
import { discardLetters } from './discard-letters.js';
import { letterJson, maskedContent, revealed } from './letter-json.js';
import { sendJson } from './page-answers.js';
import { asked, askedInQuery } from './page-filter.js';
import type { PageSettings } from './page-options.js';
import { streamReplay } from './replay-stream.js';
import { refusePerhapsEmpty, requestBody } from './request-body.js';

const DEFAULT_LIMIT = 50;

type Work = (request: Request, response: Response) => Promise<object | undefined>;

/** Answers with what `work` resolves to, unless it has answered itself. */
function answering(work: Work): RequestHandler {
  return route(async (request, response) => {
    const body = await work(request, response);
    if (body) sendJson(response, 200, body);
  });
}

export function letterRoutes(
  router: Router,
  settings: PageSettings,
  userOf: (request: Request) => string,
): void {
  const routes = new LetterRoutes(settings, userOf);
  const read = (path: string, work: Work) =>
    router.route(path).get(answering(work)).all(methodNotAllowed('GET', 'HEAD'));
  const write = (path: string, work: Work) =>
    router.route(path).post(answering(work)).all(methodNotAllowed('POST'));
  read('/letters', (request) => routes.list(request));
  read('/summary', (request) => routes.summary(request));
  read('/letters/:id', (request) => routes.detail(request));
  write('/letters/:id/reveal', (request) => routes.reveal(request));
  write('/replay', (request, response) => routes.replay(request, response));
  write('/discard', (request) => routes.discard(request));
}

class LetterRoutes {
  readonly #settings: PageSettings;
  readonly #userOf: (request: Request) => string;

  constructor(settings: PageSettings, userOf: (request: Request) => string) {
    this.#settings = settings;
    this.#userOf = userOf;
  }

  async list(request: Request): Promise<object> {
    const { filter, rest } = askedInQuery(queryOf(request), ['discarded', 'limit', 'after']);
    const limit = rest.limit === undefined ? DEFAULT_LIMIT : Number(rest.limit);
    const after = rest.after as string | undefined;
    const { letters, next } = await this.#settings.letters.page(filter, { limit, after });
    return { letters: letters.map(letterJson), next: next ?? null };
  }

  async summary(request: Request): Promise<object> {
    const { letters, eventNames } = this.#settings;
    const { filter } = askedInQuery(queryOf(request), ['discarded']);
    const { total, oldest, groups } = await letters.count(filter);
    return { total, oldest: oldest ?? null, groups, names: eventNames, user: this.#userOf(request) };
  }

  async detail(request: Request): Promise<object> {
    const { letters } = this.#settings;
    const letter = await this.#letter(request);
    const content = await letters.read(letter.id);
    if (content.status === 'gone') throw gone(letter.id);
    const diagnosis = await diagnose(letter, letters);
    return { letter: letterJson(letter), ...maskedContent(content), diagnosis };
  }

  async reveal(request: Request): Promise<object> {
    const letter = await this.#letter(request);
    refuseUnknownOptions(await requestBody(request), []);
    const content = await this.#settings.letters.read(letter.id);
    if (content.status === 'gone') throw gone(letter.id);
    if (content.status === 'unreadable')
      throw new HttpError(409, 'What is stored is not what was kept, so there is nothing to show.');
    const { id, eventId, eventName } = letter;
    const fields = { deadLetterId: shorten(id), eventId: shorten(eventId), eventName: shorten(eventName) };
    this.#audit(request, fields, 'letter revealed');
    return revealed(content);
  }

  async replay(request: Request, response: Response): Promise<undefined> {
    const fields = await requestBody(request);
    refusePerhapsEmpty(request, fields);
    const { filter, rest } = asked(fields, ['dryRun', 'keys', 'concurrency']);
    const report = await streamReplay(this.#settings.letters, { ...filter, ...rest }, response);
    if (report?.dryRun) return;
    const { events: _events, dryRun: _dryRun, ...counts } = report ?? {};
    this.#audit(request, report ? counts : { failure: true }, 'letters replayed');
  }

  async discard(request: Request): Promise<object> {
    const { filter, rest } = asked(await requestBody(request), ['because', 'expect']);
    const why = { by: this.#userOf(request), because: rest.because as string };
    let discarded = 0;
    const onDiscarded = () => {
      discarded += 1;
    };
    try {
      await discardLetters(this.#settings.letters, { filter, why, expect: rest.expect, onDiscarded });
    } catch (error) {
      // These are gone, whatever became of the others.
      if (discarded > 0) this.#audit(request, { discarded, failure: true }, 'letters discarded');
      throw error;
    }
    this.#audit(request, { discarded }, 'letters discarded');
    return { discarded };
  }

  /** @throws {HttpError} 404 */
  async #letter(request: Request): Promise<DeadLetter> {
    const id = param(request, 'id');
    // In a filter it would be a mistake; an address that nobody made leads nowhere.
    if (id.includes('\0')) throw gone(id);
    const { letters } = await this.#settings.letters.page({ id }, { limit: 1 });
    if (!letters[0]) throw gone(id);
    return letters[0];
  }

  #audit(request: Request, fields: object, message: string): void {
    const user = this.#userOf(request);
    writeLog(this.#settings.logFor(request), 'info', { user, ...fields }, message);
  }
}

function gone(id: string): HttpError {
  return new HttpError(
    404,
    `There is no letter ${JSON.stringify(id.slice(0, 100))}. It was processed or discarded, or its time is over.`,
  );
}
