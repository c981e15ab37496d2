// `npm run test:bare`: tests that use servers or programs must also pass on a machine that has none of them.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Everything else on the PATH stays, and so does Postgres, which `npm ci` installs. */
const LEFT_OUT =
  /^(?:redis|valkey|mariadb|mysql|chrom|google-chrome|openssl|curl|rabbitmq|nats|nginx|pgbouncer)/;
/** What the text of a test contains when it may need one of them. */
const USES =
  /needing\((?!'postgres'\))|setup\/(?:own-(?:broker|mariadb|redis)|redis-clients|shared-stores|sql-(?:adapters|letters))\.js|TEST_(?:REDIS|MARIADB)|start(?:Redis|Mariadb)|chromium/;

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'bare-'));
let status;
try {
  for (const directory of process.env.PATH.split(delimiter).filter((each) => existsSync(each))) {
    for (const program of readdirSync(directory)) {
      const link = join(folder, program);
      if (!LEFT_OUT.test(program) && !existsSync(link)) symlinkSync(join(directory, program), link);
    }
  }
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join(root, 'test', file))
    // The package is built, packed and installed first, which takes too long to do twice.
    .filter((file) => !file.endsWith('test/package.test.ts') && USES.test(readFileSync(file, 'utf8')));
  const { CI: _, ...env } = process.env;
  const jest = join(root, 'node_modules/jest/bin/jest.js');
  ({ status } = spawnSync(process.execPath, [jest, '--runTestsByPath', ...files, ...process.argv.slice(2)], {
    cwd: root,
    env: { ...env, PATH: folder },
    stdio: 'inherit',
  }));
} finally {
  rmSync(folder, { recursive: true });
}
process.exit(status ?? 1);
