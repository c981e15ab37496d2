// What only some systems have. Tests that need it are skipped elsewhere, and the output of Jest names them.
import { describe, test } from '@jest/globals';

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

/** For /proc, /dev/full and xdg-open. */
export const testOnLinux = platform === 'linux' ? test : test.skip;

/** macOS listens and connects at 127.0.0.1 only; the other loopback addresses have to be set up first. */
export const testOnAllOf127 = platform === 'darwin' ? test.skip : test;
