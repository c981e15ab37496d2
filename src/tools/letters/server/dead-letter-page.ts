// Serves the dead-letter page, and the JSON that it and the CLI use, from any node:http server.
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpError } from '../../web/http-error.js';
import { type PageFile, pageFiles } from '../../web/page-files.js';
import { originalUrl } from '../../web/request.js';
import { serveLetters } from './letter-routes.js';
import { page } from './packaged.js';
import { authorized, setPageHeaders } from './page-guard.js';
import { answerError, pathOf, sendText } from './page-http.js';
import type { DeadLetterPageOptions, PageReceiver, PageSettings } from './page-options.js';
import { pageSettings } from './page-options.js';

/** Not a redirect: only the browser knows the path of the page, because a proxy may serve it under another one. */
const ADD_SLASH = "const url = new URL(location); url.pathname += '/'; location.replace(url);";
const ADD_SLASH_HASH = createHash('sha256').update(ADD_SLASH).digest('base64');
const SLASH_PAGE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Dead letters</title>
<p>The URL of this page ends with a slash. Add it.</p>
<script>${ADD_SLASH}</script>
</html>
`;

/**
 * Serves a page to search, inspect, replay and discard dead letters, and the JSON that the commands
 * `payment-webhooks dead-letters …` use. Payload values are masked until a user reveals them, which is logged with the
 * user. Mount it at any path, before or after body parsers, in an app that strips the path from `req.url`, as Express 4
 * and 5 do.
 *
 * @returns a handler that answers every request and never calls `next`: later handlers would run unauthorized
 * @throws {ConfigurationError} if `authorize` is missing, an option is invalid, or the receiver keeps no dead letters
 * @example
 * app.use('/ops/webhooks', deadLetterPage(hooks, { authorize: (req) => requireAdmin(req) }));
 */
export function deadLetterPage<Req extends IncomingMessage = IncomingMessage>(
  hooks: PageReceiver,
  options: DeadLetterPageOptions<Req>,
): (req: Req, res: ServerResponse, next?: (error?: unknown) => void) => Promise<void> {
  const settings = pageSettings(hooks, options);
  const files = pageFiles(page, 'letters');
  return (req, res) => serve(req, res, settings, files);
}

type Served = ReadonlyMap<string, PageFile>;

/** Resolves when the answer is written: h3 and Nitro wait for that. Never rejects. */
async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  settings: PageSettings,
  files: Served,
): Promise<void> {
  try {
    if (response.headersSent) return;
    setPageHeaders(response);
    const user = await authorized(request, settings);
    if (sendSlashPage(request, response)) return;
    if (!(await serveLetters({ request, response, user, settings }))) sendFile(request, response, files);
  } catch (error) {
    answerError(request, response, { error, logFor: settings.logFor });
  }
}

/** The page loads its files by relative URLs, so its own URL must end with a slash. */
function sendSlashPage(request: IncomingMessage, response: ServerResponse): boolean {
  const [path = ''] = originalUrl(request).split('?');
  if (pathOf(request) !== '/' || path.endsWith('/') || request.method !== 'GET') return false;
  const policy = `default-src 'none'; script-src 'sha256-${ADD_SLASH_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  const headers = { 'Content-Security-Policy': policy };
  sendText(request, response, { status: 200, type: 'text/html; charset=utf-8', headers, body: SLASH_PAGE });
  return true;
}

function sendFile(request: IncomingMessage, response: ServerResponse, files: Served): void {
  const file = /^(?:GET|HEAD)$/.test(request.method ?? '') && files.get(pathOf(request));
  if (!file) throw new HttpError(404, 'Not found.');
  sendText(request, response, { status: 200, ...file });
}
