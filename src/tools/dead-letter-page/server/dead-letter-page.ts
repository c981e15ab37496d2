// Serves the dead-letter page, and the JSON that it and the CLI use, from any node:http server.
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { HttpError } from '../../pages/http-error.js';
import { builtPage } from '../../pages/package-folder.js';
import { originalUrl, READ_METHODS } from '../../pages/request.js';
import { serveLetters } from './letter-routes.js';
import { answerError, sendText } from './page-answers.js';
import { authorized, setPageHeaders } from './page-guard.js';
import {
  type DeadLetterPageOptions,
  type PageReceiver,
  type PageSettings,
  pageSettings,
} from './page-options.js';
import { pathOf } from './page-request.js';

const NOTICE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Dead letters</title>
<h1>Dead letters</h1>
<p>The page was not built. Run <code>npm run build</code>. The letters are <a href="letters">here as JSON</a>.</p>
</html>
`;

const HTML = 'text/html; charset=utf-8';
/** The only files that are served, by path. */
const FILES: ReadonlyMap<string, { readonly file: string; readonly type: string }> = new Map([
  ['/', { file: 'index.html', type: HTML }],
  ['/index.html', { file: 'index.html', type: HTML }],
  ['/assets/page.css', { file: 'assets/page.css', type: 'text/css; charset=utf-8' }],
  ['/assets/page.js', { file: 'assets/page.js', type: 'text/javascript; charset=utf-8' }],
  ['/assets/preact-license.txt', { file: 'assets/preact-license.txt', type: 'text/plain; charset=utf-8' }],
]);

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
): (req: Req, res: ServerResponse, next?: (error?: unknown) => void) => void {
  const settings = pageSettings(hooks, options);
  return (req, res) => void serve(req, res, settings);
}

/** Never rejects. */
async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  settings: PageSettings,
): Promise<void> {
  try {
    if (response.headersSent) return;
    setPageHeaders(response);
    const user = await authorized(request, settings);
    if (redirectToFolder(request, response)) return;
    if (!(await serveLetters({ request, response, user, settings }))) await sendFile(request, response);
  } catch (error) {
    answerError(request, response, { error, logFor: settings.logFor });
  }
}

/** The page loads its files by relative URLs, so its own URL must end with a slash. */
function redirectToFolder(request: IncomingMessage, response: ServerResponse): boolean {
  const [path = ''] = originalUrl(request).split('?');
  if (pathOf(request) !== '/' || path.endsWith('/') || request.method !== 'GET') return false;
  // Relative, because a proxy may strip a prefix; with a dot, because `//name/` would be a host.
  const name = path.slice(path.lastIndexOf('/') + 1);
  sendText(request, response, { status: 302, headers: { Location: `./${name}/` } });
  return true;
}

async function sendFile(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = pathOf(request);
  const known = READ_METHODS.has(request.method ?? '') && request.method !== 'OPTIONS' && FILES.get(path);
  if (!known) throw new HttpError(404, 'Not found.');
  const folder = builtPage('dead-letter-page');
  const text = folder && (await readFile(join(folder, known.file), 'utf8').catch(() => undefined));
  if (text === undefined && path !== '/') throw new HttpError(404, 'Not found.');
  sendText(request, response, { status: 200, type: known.type, body: text ?? NOTICE });
}
