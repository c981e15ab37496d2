// Takes the screenshots of the documentation, and reads their size.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { ROOT } from '../setup/shell.js';

const FOLDER = join(ROOT, 'docs/images');
export const VIEWPORT = { width: 1360, height: 800 };

/** Whether to take them again. */
export const TAKE = Boolean(process.env.DOCS_SCREENSHOTS);

export async function shoot(page: Page, name: string): Promise<void> {
  const { stdout, status } = spawnSync('pngquant', ['--speed', '1', '256', '-'], {
    input: await page.screenshot(),
  });
  if (status !== 0) throw new Error('pngquant failed or is missing. Install it to make the screenshots.');
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, name), stdout);
}

export function expectScreenshot(name: string): void {
  const image = readFileSync(join(FOLDER, name));
  expect([image.readUInt32BE(16), image.readUInt32BE(20)]).toEqual([VIEWPORT.width, VIEWPORT.height]);
  expect(image.byteLength).toBeLessThan(150_000);
}
