// What only some systems have. Tests that need it are skipped elsewhere, and the output of Jest names them.
import { describe, test } from '@jest/globals';
import { isMissing, needs } from './programs.js';

/** TEST_PLATFORM=win32 skips on any machine what is skipped on Windows. */
const platform = process.env.TEST_PLATFORM ?? process.platform;

export const onWindows = platform === 'win32';

/**
 * Like `test` and `describe`, for what Windows does not have: a shell (sh, bash), programs that cannot be counted on
 * there (openssl, curl), the bits of a file mode, symbolic links without special rights, and signals that a process can
 * catch. `kill()` ends a process there at once.
 */
export const testOnUnix = onWindows ? test.skip : test;
export const describeOnUnix = onWindows ? describe.skip : describe;

/**
 * `test` and `describe` for what needs these programs: `postgres`, `redis-server`, `mariadbd`, `chromium` or any other on the
 * PATH, or `SQLite` (see `openSqlite()`). Without them the tests are skipped, and the last lines of the run say which programs were missing.
 */
export function needing(...programs: readonly string[]): {
  readonly missing: readonly string[];
  readonly test: typeof test;
  readonly describe: typeof describe;
} {
  const missing = programs.filter((program) => onWindows || isMissing(program));
  if (missing.length === 0) return { missing, test, describe };
  return { missing, test: skipped(test.skip, missing), describe: skipped(describe.skip, missing) };
}

type Skip = typeof test.skip | typeof describe.skip;

/** Skips by a name that says what is missing. */
function skipped<Run>(skip: Skip, missing: readonly string[]): Run {
  const named =
    (run: (name: never, ...rest: never[]) => void) =>
    (name: string, ...rest: never[]) =>
      run(`${name}${needs(missing)}` as never, ...rest);
  const each = (...table: never[]) => named((skip.each as unknown as (...table: never[]) => never)(...table));
  return Object.assign(named(skip as never), { each }) as Run;
}

/** For /proc, /dev/full and xdg-open. */
export const testOnLinux = platform === 'linux' ? test : test.skip;

/** macOS listens and connects at 127.0.0.1 only; the other loopback addresses have to be set up first. */
export const testOnAllOf127 = platform === 'darwin' ? test.skip : test;
