// Reads files of this package in a checkout. The build replaces the modules that call it with the texts they read.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Texts by name. */
export type Files = ReadonlyMap<string, string>;

/** @throws for a missing file: a page before `npm run build` */
export function readFiles(folder: string, names: readonly string[]): Files {
  const root = packageFolder();
  return new Map(names.map((name) => [name, readFileSync(join(root, folder, name), 'utf8')]));
}

function packageFolder(): string {
  const start = dirname(thisFile());
  for (let folder = start; folder !== dirname(folder); folder = dirname(folder)) {
    if (nameIn(join(folder, 'package.json')) === 'payment-webhooks') return folder;
  }
  throw new Error(`No folder above ${start} is a checkout of payment-webhooks.`);
}

/**
 * The path of this file, from a stack trace. The same source runs as an ES module, which has `import.meta`, and as
 * CommonJS, where that is a syntax error.
 */
function thisFile(): string {
  const { prepareStackTrace, stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = 1;
    Error.prepareStackTrace = (_error, sites) => sites[0]?.getFileName() ?? '';
    const name = String(new Error().stack);
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
