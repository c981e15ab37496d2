// Stands before every answer of the page: security headers, own origin, and a user whom `authorize` lets in.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describeError, writeLog } from '../../../logger.js';
import { HttpError } from '../../pages/http-error.js';
import { PAGE_HEADERS } from '../../pages/page-headers.js';
import { requireOwnOrigin } from './own-origin.js';
import type { PageSettings } from './page-options.js';

/** No log line, and no tombstone, suffers from a name of this length. */
const LONGEST_USER = 100;

export function setPageHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(PAGE_HEADERS)) response.setHeader(name, value);
  // A middleware before the page may open it to other origins.
  for (const name of response.getHeaderNames())
    if (name.startsWith('access-control-')) response.removeHeader(name);
}

/** @returns the name of the user @throws {HttpError} for a user who is not let in */
export async function authorized(request: IncomingMessage, settings: PageSettings): Promise<string> {
  const { authorize, hosts, logFor } = settings;
  requireOwnOrigin(request, hosts);
  const complain = (fields: object, message: string) => {
    writeLog(logFor(request), 'error', fields, message);
    return new HttpError(500, 'Your request could not be authorized. The log says why.');
  };
  let user: unknown;
  let name: string | undefined;
  try {
    user = await authorize(request);
    name = nameOf(user);
  } catch (error) {
    throw complain(
      { error: describeError(error) },
      'authorize of deadLetterPage() failed, so nobody was let in',
    );
  }
  if (!user) throw new HttpError(403, 'You may not see this page. Sign in as somebody who may.');
  if (name !== undefined) return name;
  throw complain(
    {},
    'authorize of deadLetterPage() must return the name of the user, or an object with name or id, so nobody was let in',
  );
}

/** Undefined for what cannot be told apart in a log. */
function nameOf(user: unknown): string | undefined {
  const { name, id } = (typeof user === 'object' && user !== null ? user : {}) as Record<string, unknown>;
  const known = [user, name, id].find((text) => typeof text === 'string' && text.trim() !== '');
  return typeof known === 'string'
    ? known.slice(0, LONGEST_USER)
    : Number.isFinite(id)
      ? String(id)
      : undefined;
}
