// Makes a folder for each door while the package is packed, for tools that do not read `exports`: TypeScript with
// `moduleResolution: node10` and ESLint's import resolver look for stores/redis/package.json. `--remove` deletes them.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const doors = Object.keys(exports).filter((door) => door !== '.' && exports[door].require);

for (const door of doors) {
  const [, top, ...below] = door.split('/');
  if (process.argv[2] === '--remove') {
    rmSync(join(root, top), { recursive: true, force: true });
    continue;
  }
  const up = '../'.repeat(1 + below.length);
  const { default: main, types } = exports[door].require;
  const stub = { main: main.replace('./', up), types: types.replace('./', up) };
  mkdirSync(join(root, door), { recursive: true });
  writeFileSync(join(root, door, 'package.json'), `${JSON.stringify(stub, undefined, 2)}\n`);
}
