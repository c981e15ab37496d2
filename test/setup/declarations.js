// Ships a declaration only if a door reaches it: an editor opens no other, and they were a third of the package.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param {string} half `dist/esm` or `dist/cjs`
 * @param {readonly string[]} doors declarations below it, such as `index.d.ts`
 */
export function removeUnreachableDeclarations(half, doors) {
  /** @type {Set<string>} */
  const reached = new Set();
  for (const door of doors) reach(join(half, door), reached);
  for (const name of readdirSync(half, { recursive: true, encoding: 'utf8' })) {
    const file = join(half, name);
    if (name.endsWith('.d.ts') && !reached.has(file)) rmSync(file);
  }
}

/**
 * @param {string} file
 * @param {Set<string>} reached
 */
function reach(file, reached) {
  if (reached.has(file)) return;
  if (!existsSync(file)) throw new Error(`A declaration is imported and was not built: ${file}`);
  reached.add(file);
  const relatives = readFileSync(file, 'utf8').matchAll(
    /(?:from|import\(|import) ?['"](\.{1,2}\/[^'"]+)\.js['"]/g,
  );
  for (const [, path = ''] of relatives) reach(join(file, '..', `${path}.d.ts`), reached);
}
