// Serves the dead-letter page, and the JSON that it and the CLI use, from any node:http server.
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { HttpError } from '../../pages/http-error.js';
import { builtPage } from '../../pages/package-folder.js';
import { originalUrl } from '../../pages/request.js';
import { serveLetters } from './letter-routes.js';
import { authorized, setPageHeaders } from './page-guard.js';
import { answerError, pathOf, sendText } from './page-http.js';
import type { DeadLetterPageOptions, PageReceiver, PageSettings } from './page-options.js';
import { pageSettings } from './page-options.js';

const NOTICE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Dead letters</title>
<h1>Dead letters</h1>
<p>The page was not built. Run <code>npm run build</code>. The letters are <a href="letters">here as JSON</a>.</p>
</html>
`;

/** The only files that are served, with their types. */
const FILES: ReadonlyMap<string, string> = new Map([
  ['/index.html', 'text/html'],
  ['/assets/page.css', 'text/css'],
  ['/assets/page.js', 'text/javascript'],
  ['/assets/preact-license.txt', 'text/plain'],
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
async function serve(request: IncomingMessage, response: ServerResponse, settings: PageSettings) {
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
  const file = path === '/' ? '/index.html' : path;
  const type = /^(?:GET|HEAD)$/.test(request.method ?? '') && FILES.get(file);
  const folder = type && builtPage('dead-letter-page');
  const text = folder && (await readFile(join(folder, file), 'utf8').catch(() => undefined));
  const body = text || (path === '/' && NOTICE);
  if (!type || !body) throw new HttpError(404, 'Not found.');
  sendText(request, response, { status: 200, type: `${type}; charset=utf-8`, body });
}
