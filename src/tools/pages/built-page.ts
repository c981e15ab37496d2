// Serves a built page from its folder in `dist`.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import express, { type Router } from 'express';

/**
 * @param folder the built page: `index.html` and the files that it loads
 * @param notice HTML for a checkout in which the page was not built
 */
export function pageRouter(folder: string | undefined, notice: string): Router {
  const router = express.Router();
  if (folder !== undefined && existsSync(join(folder, 'index.html'))) {
    return router.use(express.static(folder, { cacheControl: false, etag: false, redirect: false }));
  }
  return router.get('/', (_request, response) => void response.type('html').send(notice));
}
