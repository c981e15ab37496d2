// Ships each declaration once, and only if a door reaches it: an editor opens no other, and they were a third of the package.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

/**
 * @param {string} half `dist/cjs`, which has the declarations of every file
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
 * TypeScript wants a declaration of each kind of module for a door. Those of the ES modules pass on the others, so that there is
 * one type of a receiver, however it was imported.
 *
 * @param {string} dist
 * @param {readonly string[]} doors
 */
export function declareDoorsOfEsm(dist, doors) {
  for (const door of doors) {
    const file = join(dist, 'esm', door);
    const other = posix.join(posix.relative(posix.dirname(`esm/${door}`), 'cjs'), door);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `export * from '${other.replace(/\.d\.ts$/, '.js')}';\n`);
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
