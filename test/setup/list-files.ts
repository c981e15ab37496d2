// Every file and folder below a folder, by its path from there. Slashes separate on Windows too.
import { readdirSync } from 'node:fs';
import { sep } from 'node:path';

export function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => name.split(sep).join('/'))
    .sort();
}
