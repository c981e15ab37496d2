// Finds the folder of this package on disk, for files that are not code: the pages and the OpenAPI document.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Undefined if the package was bundled into another program. */
export function packageFolder(): string | undefined {
  const file = thisFile();
  if (file === undefined) return undefined;
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    if (nameIn(join(folder, 'package.json')) === 'payment-webhooks') return folder;
  }
  return undefined;
}

/** Where the build puts a page; undefined if the package was bundled into another program. */
export function builtPage(name: string): string | undefined {
  const root = packageFolder();
  return root && join(root, 'dist', name);
}

/**
 * The path of this file, from a stack trace. The same source is built as an ES module, which has `import.meta`,
 * and as CommonJS, where that is a syntax error.
 */
function thisFile(): string | undefined {
  const { prepareStackTrace, stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = 1;
    Error.prepareStackTrace = (_error, sites) => sites[0]?.getFileName() ?? undefined;
    const name: unknown = new Error().stack;
    if (typeof name !== 'string') return undefined;
    return name.startsWith('file:') ? fileURLToPath(name) : name;
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function nameIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).name;
  } catch {
    return undefined;
  }
}
