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
    const lines = exported.map(([name, read]) => {
      const map = `new Map(${JSON.stringify([...read()])})`;
      return `const ${name}Texts = ${map};\nexports.${name} = () => ${name}Texts;\n`;
    });
    writeFileSync(`${dist}/cjs/${module}.js`, lines.join(''));
    // The command line has no ES modules. The others have their texts from here, so that these are shipped once.
    const names = exported.map(([name]) => name).join(', ');
    const up = '../'.repeat(module.split('/').length);
    const passedOn = `export { ${names} } from '${up}cjs/${module}.js';\n`;
    if (existsSync(`${dist}/esm/${module}.js`)) writeFileSync(`${dist}/esm/${module}.js`, passedOn);
  }
  for (const half of ['cjs', 'esm']) rmSync(`${dist}/${half}/${READER}.js`);
}
