// Finds Chromium on this machine, and builds the pages for it.
import { execFileSync } from 'node:child_process';
import { findProgram } from '../setup/programs.js';

/** Undefined where there is no Chromium. */
export const executablePath = findProgram('chromium');

export const CHROMIUM_IS_MISSING = 'Chromium is missing. On Debian: apt-get install chromium';

export const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

/** Throws with the output of the build when it fails. */
export function buildPages(): void {
  execFileSync(process.execPath, ['test/setup/build-pages.js'], { stdio: 'pipe' });
}
