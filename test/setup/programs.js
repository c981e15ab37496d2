// The programs that tests need next to Node: whether they are here, and what installs those that are not.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

// Of Node, not of Jest: its files share one process, in which the addon of better-sqlite3 keeps the error class of the first.
const { createRequire } = process.getBuiltinModule('node:module');
const require = createRequire(join(process.cwd(), 'package.json'));

/**
 * What CI has to have, with the package of Debian. The global setup sets `variable` where the tests can have the server.
 * Postgres is a package of npm.
 */
export const PROGRAMS = {
  postgres: { variable: 'TEST_POSTGRES_URL' },
  'redis-server': { variable: 'TEST_REDIS_URL' },
  mariadbd: { variable: 'TEST_MARIADB', package: 'mariadb-server' },
  chromium: { also: ['chromium-browser', 'google-chrome'] },
  'rabbitmq-server': {},
  'nats-server': {},
  nginx: {},
  pgbouncer: {},
  openssl: {},
  curl: {},
  python3: {},
};

/** The path of a program, or undefined. */
export function findProgram(name) {
  const names = [name, ...(PROGRAMS[name]?.also ?? [])];
  return (process.env.PATH ?? '')
    .split(delimiter)
    .flatMap((folder) => names.map((each) => join(folder, each)))
    .find((file) => existsSync(file));
}

export function isMissing(name) {
  if (name === SQLITE) return sqliteDrivers().length === 0;
  if (name === 'better-sqlite3') return !sqliteDrivers().some(([driver]) => driver === name);
  const variable = PROGRAMS[name]?.variable;
  return variable ? !process.env[variable] : !findProgram(name);
}

/** A driver instead of a program: better-sqlite3 if npm could install it, else that of Node from 22.16 on. */
export const SQLITE = 'SQLite';

/** The drivers of SQLite that open a database here, the preferred one first. */
export function sqliteDrivers() {
  const drivers = {
    'better-sqlite3': (file) => new (require('better-sqlite3'))(file),
    'node:sqlite': (file) => new (require('node:sqlite').DatabaseSync)(file),
  };
  return Object.entries(drivers).filter(([, open]) => {
    try {
      open(':memory:').close();
      return true;
    } catch {
      return false;
    }
  });
}

/** What to type for programs that are missing. */
export function howToInstall(names) {
  const packages = names.filter((name) => !NOT_DEBIAN.has(name));
  return [
    ...(packages.length > 0
      ? [`apt-get install ${packages.map((name) => PROGRAMS[name]?.package ?? name).join(' ')}`]
      : []),
    ...(names.some((name) => NOT_DEBIAN.has(name) && name !== 'Node')
      ? ['npm install --include=optional']
      : []),
  ].join(' && ');
}

const NOT_DEBIAN = new Set(['postgres', 'Node', SQLITE, 'better-sqlite3']);

/** Ends the name of a test that is skipped because a program is missing. */
export const needs = (names) => ` (needs ${names.join(' and ')})`;

const OTHER = 'not for this machine';

/**
 * Why tests did not run, and what to install so that they do.
 *
 * @param tests their full names
 */
export function explainSkipped(tests) {
  const counts = new Map();
  for (const test of tests) {
    const reason = / \(needs ([\w-]+)/.exec(test)?.[1] ?? OTHER;
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const reasons = [...counts].sort(([, one], [, other]) => other - one);
  const missing = reasons.map(([name]) => name).filter((name) => name !== OTHER);
  const list = reasons.map(([name, count]) => `${name} (${count})`).join(', ');
  const cure = missing.length > 0 ? ` To run them: ${howToInstall(missing)}` : '';
  return `${tests.length} skipped: ${list}.${cure}`;
}
