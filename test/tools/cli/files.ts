// Files for command lines, in a folder that goes with the test file.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';

export const folder = mkdtempSync(join(tmpdir(), 'cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;

/** The path of a new file with this content. */
export function fileWith(content: string | Buffer, name = `file-${count++}`): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}
