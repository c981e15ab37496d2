// The files of a page as they are served, by path.
import type { Files } from './read-files.js';

export interface PageFile {
  readonly type: string;
  readonly body: string;
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['html', 'text/html'],
  ['css', 'text/css'],
  ['js', 'text/javascript'],
  ['txt', 'text/plain'],
]);

/** @param json where the server lists the same as JSON: for a checkout in which the page was not built */
export function pageFiles(read: () => Files, json: string): ReadonlyMap<string, PageFile> {
  const notice = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>payment-webhooks</title>
<p>The page was not built. Run <code>npm run build</code>. The same <a href="${json}">as JSON</a>.</p>
</html>
`;
  const files = readBuilt(read) ?? new Map([['index.html', notice]]);
  const served = [...files].map(([name, body]) => [`/${name}`, asServed(name, body)] as const);
  return new Map([...served, ['/', asServed('index.html', files.get('index.html') ?? notice)]]);
}

function readBuilt(read: () => Files): Files | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function asServed(name: string, body: string): PageFile {
  const type = TYPES.get(name.split('.').at(-1) ?? '') ?? 'text/plain';
  return { type: `${type}; charset=utf-8`, body };
}
