// The version of the installed package.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from '../simulator/package-folder.js';

export function version(): string {
  const folder = packageFolder();
  return folder ? JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version : 'unknown';
}
