// The screenshots of the documentation. To make them again (with the program pngquant, and the fonts Inter and
// JetBrains Mono): DOCS_SCREENSHOTS=1 npx jest test/browser/dashboard-screenshots
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ROOT } from '../setup/shell.js';
import { describeInChromium, openPage } from './chromium.js';
import { scene } from './scene.js';

const FOLDER = join(ROOT, 'docs/images');
const WIDTH = 1360;
const HEIGHT = 800;

async function shoot(colorScheme: 'light' | 'dark', file: string): Promise<void> {
  const viewport = { width: WIDTH, height: HEIGHT };
  const { page } = await openPage(await scene(), '', { colorScheme, viewport });
  await page.locator('tr.row').filter({ hasText: 'Retrying' }).first().locator('.row-button').click();
  await page.locator('.code-block').waitFor();
  const { stdout, status } = spawnSync('pngquant', ['--speed', '1', '256', '-'], {
    input: await page.screenshot(),
  });
  if (status !== 0) throw new Error('pngquant failed or is missing. Install it to make the screenshots.');
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(file, stdout);
}

describeInChromium.each(['light', 'dark'] as const)('the screenshot in the %s theme', (colorScheme) => {
  test('is there, of its size, and small', async () => {
    const file = join(FOLDER, `simulator-${colorScheme}.png`);
    if (process.env.DOCS_SCREENSHOTS) await shoot(colorScheme, file);
    const image = readFileSync(file);
    expect([image.readUInt32BE(16), image.readUInt32BE(20)]).toEqual([WIDTH, HEIGHT]);
    expect(image.byteLength).toBeLessThan(150_000);
  });
});
