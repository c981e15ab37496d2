// The JSON routes of the page: list, show, reveal, replay, discard and forget, with an audit log.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { FILTERS } from '../../../dead-letters/dead-letter-filter.js';
import type { DeadLetters } from '../../../dead-letters/dead-letters.js';
import { ConfigurationError } from '../../../errors.js';
import { shorten, writeLog } from '../../../logger.js';
import { refuseUnknownOptions } from '../../../misuse.js';
import { HttpError } from '../../web/http-error.js';
import { queryOf } from '../../web/request.js';
import { diagnose } from './diagnose.js';
import { type CauseCount, letterJson, maskedContent, revealed } from './letter-json.js';
import { givenFields, pathOf, queryFields, rejectEmptyBody, requestBody, sendJson } from './page-http.js';
import type { PageSettings } from './page-options.js';
import { streamReplay } from './replay-stream.js';

const DEFAULT_LIMIT = 50;
/** The reasons of letters that have a cause. */
const CAUSED = ['failed', 'rejected'] as const;
/** Reading as many takes about a second. */
const MAX_READ = 5_000;
const MAX_CAUSES = 200;

interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly user: string;
  readonly settings: PageSettings;
}

interface Route {
  readonly path: RegExp;
  readonly methods: readonly string[];
  /** Resolves to the JSON to answer; undefined if it has already answered. */
  readonly work: (visit: Visit, id: string) => Promise<object | undefined>;
}

const ROUTES: readonly Route[] = [
  { path: /^\/letters$/, methods: ['GET', 'HEAD'], work: list },
  { path: /^\/summary$/, methods: ['GET', 'HEAD'], work: summary },
  { path: /^\/causes$/, methods: ['GET', 'HEAD'], work: causes },
  { path: /^\/letters\/([^/]+)$/, methods: ['GET', 'HEAD'], work: detail },
  { path: /^\/letters\/([^/]+)\/reveal$/, methods: ['POST'], work: reveal },
  { path: /^\/replay$/, methods: ['POST'], work: replay },
  { path: /^\/discard$/, methods: ['POST'], work: discard },
  { path: /^\/forget$/, methods: ['POST'], work: forget },
];

/** @returns false for any other path @throws {HttpError} for an invalid request or an unknown letter */
export async function serveLetters(visit: Visit): Promise<boolean> {
  const { request, response } = visit;
  const path = pathOf(request);
  const route = ROUTES.find((one) => one.path.test(path));
  if (!route) return false;
  if (!route.methods.includes(request.method ?? '')) {
    if (!response.headersSent) response.setHeader('Allow', route.methods.join(', '));
    throw new HttpError(405, `Use ${route.methods.join(' or ')} for this path.`);
  }
  const json = await route.work(visit, decoded(route.path.exec(path)?.[1]));
  if (json) sendJson(request, response, json);
  return true;
}

async function list({ request, settings: { letters: kept } }: Visit): Promise<object> {
  const fields = queryFields(queryOf(request), ['discarded', 'limit', 'after']);
  const { limit = DEFAULT_LIMIT, after, ...filter } = fields;
  const page = { limit: Number(limit), after: after as string | undefined };
  const { letters, next } = await kept.page(filter, page);
  return { letters: letters.map((letter) => letterJson(letter, kept)), next: next ?? null };
}

async function summary({ request, user, settings }: Visit): Promise<object> {
  const { letters, eventNames } = settings;
  const filter = queryFields(queryOf(request), ['discarded']);
  const { total, oldest, groups } = await letters.count(filter);
  return { total, oldest: oldest ?? null, groups, names: eventNames, user };
}

/** No store can group by what it may hold sealed, so this reads letters: the oldest ones that a handler refused. */
async function causes({ request, settings: { letters } }: Visit): Promise<object> {
  const { reason: only, ...filter } = queryFields(queryOf(request), ['discarded']);
  const counts = new Map<string, CauseCount>();
  let read = 0;
  for (const reason of CAUSED) {
    if (only !== undefined && only !== reason) continue;
    for await (const { eventName, cause } of letters.list({ ...filter, reason })) {
      read += 1;
      if (read > MAX_READ) break;
      if (cause === undefined) continue;
      const key = JSON.stringify([reason, eventName, cause]);
      const { count } = counts.get(key) ?? { count: 0 };
      counts.set(key, { reason, eventName, cause, count: count + 1 });
    }
  }
  const causes = [...counts.values()].sort((one, other) => other.count - one.count).slice(0, MAX_CAUSES);
  return { causes, complete: read <= MAX_READ && counts.size <= MAX_CAUSES };
}

async function detail({ settings: { letters } }: Visit, id: string): Promise<object> {
  const { letter, content } = await find(letters, id);
  const diagnosed = await diagnose(letter, letters);
  return { letter: letterJson(letter, letters), ...maskedContent(content), ...diagnosed };
}

async function reveal(visit: Visit, given: string): Promise<object> {
  const { letter, content } = await find(visit.settings.letters, given);
  refuseUnknownOptions(await requestBody(visit.request), []);
  if (content.status === 'unreadable')
    throw new HttpError(409, 'The stored content was altered or cannot be decrypted, so it cannot be shown.');
  const { id, eventId, eventName } = letter;
  const fields = { deadLetterId: shorten(id), eventId: shorten(eventId), eventName: shorten(eventName) };
  audit(visit, fields, 'letter revealed');
  return revealed(content);
}

async function replay(visit: Visit): Promise<undefined> {
  const { request, response, settings } = visit;
  const fields = await requestBody(request);
  rejectEmptyBody(request, fields);
  const options = givenFields(fields, ['dryRun', 'keys', 'concurrency']);
  const report = await streamReplay(settings.letters, options, response);
  if (report?.dryRun) return;
  const { events: _events, dryRun: _dryRun, ...counts } = report ?? {};
  audit(visit, report ? counts : { failure: true }, 'letters replayed');
}

async function discard(visit: Visit): Promise<object> {
  const { letters } = visit.settings;
  const { because, ...filter } = givenFields(await requestBody(visit.request), ['because']);
  if (Object.keys(filter).length === 0) {
    throw new ConfigurationError(
      `Say which letters to discard: ${FILTERS.join(', ')}. To discard all, send event: "*".`,
    );
  }
  const why = { by: visit.user, because: because as string };
  // Collects the ids first: the user has not seen letters that are kept from now on.
  const ids: string[] = [];
  for await (const { id } of letters.list(filter)) ids.push(id);
  let discarded = 0;
  try {
    for (const id of ids) if (await letters.discard(id, why)) discarded += 1;
  } catch (error) {
    // These are discarded, even though another one failed.
    if (discarded > 0) audit(visit, { discarded, failure: true }, 'letters discarded');
    throw error;
  }
  audit(visit, { discarded }, 'letters discarded');
  return { discarded };
}

/** Lets an event run again. @throws {HttpError} 409 while it is in progress, 404 if the store does not remember it */
async function forget(visit: Visit): Promise<object> {
  const { forget } = visit.settings;
  const { id, sandbox, ...rest } = await requestBody(visit.request);
  refuseUnknownOptions(rest, []);
  if (!forget)
    throw new HttpError(404, 'This version of payment-webhooks forgets no events. Update the app.');
  const result = await forget({ id: id as string, sandbox: sandbox as boolean | undefined });
  if (result.status === 'in_progress')
    throw new HttpError(
      409,
      'The event is in progress, so it was not forgotten. Try again once it has ended.',
    );
  if (result.status === 'unknown')
    throw new HttpError(
      404,
      'The store does not remember this event, so its next delivery is processed anyway.',
    );
  audit(visit, { eventId: shorten(String(id)), handlers: result.handlers }, 'event forgotten');
  return { handlers: result.handlers };
}

async function find(kept: DeadLetters, id: string) {
  // Filters reject NUL as a mistake. In a URL it is an unknown id.
  const [letter] = id.includes('\0') ? [] : (await kept.page({ id }, { limit: 1 })).letters;
  const content = letter && (await kept.read(letter.id));
  if (content && content.status !== 'gone') return { letter, content };
  throw new HttpError(
    404,
    `There is no letter ${JSON.stringify(id.slice(0, 100))}. It was processed or discarded, or it has expired.`,
  );
}

function audit({ request, user, settings }: Visit, fields: object, message: string): void {
  writeLog(settings.logFor(request), 'info', { user, ...fields }, message);
}

/** @throws {HttpError} 400 for malformed percent-encoding */
function decoded(part = ''): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new HttpError(400, 'The path of the request is malformed.');
  }
}
