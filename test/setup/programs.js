// The programs that tests need next to Node: whether they are here, and what installs those that are not.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

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
  const variable = PROGRAMS[name]?.variable;
  return variable ? !process.env[variable] : !findProgram(name);
}

/** What to type for programs that are missing. */
export function howToInstall(names) {
  const packages = names.filter((name) => name !== 'postgres' && name !== 'Node');
  return [
    ...(packages.length > 0
      ? [`apt-get install ${packages.map((name) => PROGRAMS[name]?.package ?? name).join(' ')}`]
      : []),
    ...(names.includes('postgres') ? ['npm install --include=optional'] : []),
  ].join(' && ');
}

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
