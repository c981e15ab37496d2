// The page of dead letters as an Express router: the built page, and the JSON that it and the command line use.
import express, { type RequestHandler, type Router } from 'express';
import { builtPage, pageRouter } from '../../pages/built-page.js';
import { notFound } from '../../pages/route.js';
import { letterRoutes } from './letter-routes.js';
import { answerErrors } from './page-answers.js';
import { pageGuard } from './page-guard.js';
import { type DeadLetterPageOptions, type PageReceiver, pageSettings } from './page-options.js';

const NOTICE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Dead letters</title>
<h1>Dead letters</h1>
<p>The page was not built. Run <code>npm run build</code>. The letters are <a href="letters">here as JSON</a>.</p>
</html>
`;

/**
 * The page of dead letters: to find them, see why they were kept, replay and discard them. The same as JSON is under its
 * path, which the commands `payment-webhooks dead-letters …` use. Values of payloads are masked until somebody reveals
 * them, which is logged with the user. Mount it at any path, under Express 4 or 5, before or after body parsers.
 *
 * @returns a router that answers every request under its path
 * @throws {ConfigurationError} without `authorize`, for a receiver without dead letters, and for an option that cannot be right
 * @example
 * app.use('/ops/webhooks', deadLetterPage(hooks, { authorize: (req) => requireAdmin(req) }));
 */
export function deadLetterPage(hooks: PageReceiver, options: DeadLetterPageOptions): Router {
  const settings = pageSettings(hooks, options);
  const guard = pageGuard(settings);
  const router = express.Router();
  router.use(guard.handler);
  router.use(toFolder);
  letterRoutes(router, settings, guard.userOf);
  router.use(pageRouter(builtPage('dead-letter-page'), NOTICE));
  // Nothing falls through: what comes after the page in the app is not behind its guard.
  router.use(notFound);
  router.use(answerErrors(settings.logFor));
  return router;
}

/** The files of the page are relative to it, so its address ends with a slash. */
const toFolder: RequestHandler = (request, response, next) => {
  const [path = ''] = request.originalUrl.split('?');
  if (request.path !== '/' || path.endsWith('/') || request.method !== 'GET') {
    next();
    return;
  }
  // Relative, because a proxy may have taken a prefix away; and with a dot, because two slashes would name a host.
  const name = path.slice(path.lastIndexOf('/') + 1);
  response.writeHead(302, { Location: `./${name}/` }).end();
};
