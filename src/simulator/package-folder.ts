// Finds the folder of this package on disk, for the files that are no code: the page and the API description.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Undefined where the code was bundled into another program. */
export function packageFolder(): string | undefined {
  const file = thisFile();
  if (file === undefined) return undefined;
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    if (nameIn(join(folder, 'package.json')) === 'payment-webhooks') return folder;
  }
  return undefined;
}

/**
 * The path of this very file. One source becomes an ES module, which knows `import.meta`, and a CommonJS one,
 * which may not even contain the word; a stack trace names the file in both.
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
