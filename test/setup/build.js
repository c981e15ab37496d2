// Builds the package twice, as ESM and as CommonJS, so that both kinds of caller load it natively; and the pages once.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildPages } from './build-pages.js';
import { removeUnreachableDeclarations } from './declarations.js';
import { putTextsIntoModules } from './packaged-texts.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));

rmSync(`${root}dist`, { recursive: true, force: true });
for (const project of ['tsconfig.esm.json', 'tsconfig.cjs.json']) {
  // Declarations keep their comments, which editors show; the code is a third smaller without them.
  for (const part of [['--declaration', 'false', '--removeComments'], ['--emitDeclarationOnly']]) {
    execFileSync(process.execPath, [tsc, '-p', project, ...part], { cwd: root, stdio: 'inherit' });
  }
}
const { exports: doors } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
for (const [half, condition] of Object.entries({ esm: 'import', cjs: 'require' })) {
  const declared = Object.values(doors).flatMap((door) => door[condition]?.types ?? []);
  removeUnreachableDeclarations(
    `${root}dist/${half}`,
    declared.map((path) => path.replace(`./dist/${half}/`, '')),
  );
}
// The package is "type": "module"; this marker tells Node and TypeScript that one half is not.
writeFileSync(`${root}dist/cjs/package.json`, '{ "type": "commonjs" }\n');
buildPages(`${root}dist`);
putTextsIntoModules(`${root}dist`);
