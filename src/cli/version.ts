// The version of the installed package.
import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Searched upwards from the program that runs, because npm links it and the builds lie at different depths. */
export function version(program: string = process.argv[1] ?? ''): string {
  for (let folder = dirname(realpathSync(program)); ; folder = dirname(folder)) {
    const found = packageIn(folder);
    if (found?.name === 'payment-webhooks' && found.version) return found.version;
    if (folder === dirname(folder)) return 'unknown';
  }
}

function packageIn(folder: string): { name?: string; version?: string } | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  } catch {
    return undefined;
  }
}
