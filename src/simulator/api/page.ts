// Serves the built page at `/`, or a notice if it was not built.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import express, { type RequestHandler, type Router } from 'express';
import { packageFolder } from '../package-folder.js';

const NOTICE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>payment-webhooks simulator</title>
<h1>The simulator is running</h1>
<p>Its page was not built. Run <code>npm run build</code>. The control plane answers under <a href="/_sim/readyz">/_sim</a>.</p>
</html>
`;

/** @param folder the built page: `index.html` and the files that it loads */
export function pageRouter(folder: string | undefined = builtPage()): Router {
  const router = express.Router();
  const files = folder === undefined ? [] : filesIn(folder);
  if (folder === undefined || !files.includes('index.html')) {
    router.get('/', (_request, response) => void response.type('html').send(NOTICE));
    return router;
  }
  // Only names found at the start: no path from a request reaches the disk.
  const send =
    (name: string): RequestHandler =>
    (_request, response) =>
      response.sendFile(name, { root: folder, cacheControl: false });
  router.get('/', send('index.html'));
  for (const name of files) router.get(`/${name}`, send(name));
  return router;
}

function builtPage(): string | undefined {
  const root = packageFolder();
  return root && join(root, 'dist', 'dashboard');
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile() && /^[\w.-]+$/.test(entry.name))
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}
