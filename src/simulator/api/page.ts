// Serves the built page at `/`, or a notice if it was not built.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import express, { type Router } from 'express';
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
  if (folder !== undefined && existsSync(join(folder, 'index.html'))) {
    return router.use(express.static(folder, { cacheControl: false, etag: false, redirect: false }));
  }
  return router.get('/', (_request, response) => void response.type('html').send(NOTICE));
}

function builtPage(): string | undefined {
  const root = packageFolder();
  return root && join(root, 'dist', 'dashboard');
}
