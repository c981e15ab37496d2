// Builds the package twice, as ESM and as CommonJS, so that both kinds of caller load it natively; and the pages once.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildPages } from './build-pages.js';
import { declareDoorsOfEsm, removeUnreachableDeclarations } from './declarations.js';
import { putTextsIntoModules } from './packaged-texts.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));

rmSync(`${root}dist`, { recursive: true, force: true });
// Declarations keep their comments, which editors show; the code is a third smaller without them.
compile('tsconfig.esm.json', '--declaration', 'false', '--removeComments');
compile('tsconfig.cjs.json', '--declaration', 'false', '--removeComments');
compile('tsconfig.cjs.json', '--emitDeclarationOnly');
const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const doors = Object.values(exports).flatMap(
  ({ require }) => require?.types.replace('./dist/cjs/', '') ?? [],
);
removeUnreachableDeclarations(`${root}dist/cjs`, doors);
declareDoorsOfEsm(`${root}dist`, doors);
// The package is "type": "module"; this marker tells Node and TypeScript that one half is not.
writeFileSync(`${root}dist/cjs/package.json`, '{ "type": "commonjs" }\n');
buildPages(`${root}dist`);
putTextsIntoModules(`${root}dist`);

function compile(project, ...options) {
  execFileSync(process.execPath, [tsc, '-p', project, ...options], { cwd: root, stdio: 'inherit' });
}
