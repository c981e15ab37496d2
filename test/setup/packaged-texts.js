// Replaces the modules that read files of the package by modules with their texts, because a bundle has no files next to it.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const MODULES = ['tools/letters/server/packaged', 'tools/simulator/packaged', 'tools/cli/packaged'];
/** What they read with. Nothing else imports it. */
const READER = 'tools/web/read-files';

const require = createRequire(import.meta.url);

/** @param {string} dist the compiled package and the built pages, inside the checkout that they read */
export function putTextsIntoModules(dist) {
  for (const module of MODULES) {
    const exported = Object.entries(require(`${dist}/cjs/${module}.js`));
    const texts = exported.map(([name, read]) => [name, `new Map(${JSON.stringify([...read()])})`]);
    write(`${dist}/cjs/${module}.js`, texts, (name) => `exports.${name} = `);
    write(`${dist}/esm/${module}.js`, texts, (name) => `export const ${name} = `);
  }
  for (const half of ['cjs', 'esm']) rmSync(`${dist}/${half}/${READER}.js`);
}

/** The ES modules have no command line. */
function write(file, texts, exportAs) {
  if (!existsSync(file)) return;
  const lines = texts.map(
    ([name, map]) => `const ${name}Texts = ${map};\n${exportAs(name)}() => ${name}Texts;\n`,
  );
  writeFileSync(file, lines.join(''));
}
