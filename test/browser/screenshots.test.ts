// The screenshots of the documentation. To take them again (requires pngquant, and the fonts Inter and
// JetBrains Mono): DOCS_SCREENSHOTS=1 npx jest test/browser/screenshots
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ROOT } from '../setup/shell.js';
import { describeInChromium, openPage } from './chromium.js';
import { letterScene } from './letter-app.js';
import { scene } from './scene.js';

const viewport = { width: 1360, height: 800 };

describeInChromium('the screenshot', () => {
  test.each([
    ['the simulator', 'simulator-light.png', scene, 'Retrying'],
    ['the dead letters', 'dead-letters-light.png', letterScene, ''],
  ])('of %s is there, of its size, and small', async (_, name, show, shown) => {
    const file = join(ROOT, 'docs/images', name);
    if (process.env.DOCS_SCREENSHOTS) {
      const { page } = await openPage(await show(), '', { viewport });
      await page.locator('tr.row').filter({ hasText: shown }).first().locator('.row-link').click();
      await page.locator('.json').waitFor();
      const input = await page.screenshot();
      const { stdout, status } = spawnSync('pngquant', ['--speed', '1', '256', '-'], { input });
      if (status !== 0) throw new Error('pngquant failed or is missing. Install it to make the screenshots.');
      writeFileSync(file, stdout);
    }
    const image = readFileSync(file);
    expect([image.readUInt32BE(16), image.readUInt32BE(20)]).toEqual([viewport.width, viewport.height]);
    expect(image.byteLength).toBeLessThan(150_000);
  });
});
