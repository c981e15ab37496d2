// The screenshots of the documentation. To take them again (requires pngquant, and the fonts Inter and
// JetBrains Mono): DOCS_SCREENSHOTS=1 npx jest test/browser/screenshots
import { test } from '@jest/globals';
import { describeInChromium, openPage } from './chromium.js';
import { letterScene } from './letter-app.js';
import { scene } from './scene.js';
import { expectScreenshot, shoot, TAKE, VIEWPORT as viewport } from './screenshots.js';

const colorScheme = 'light';

describeInChromium('the screenshot', () => {
  test('of the simulator is there, of its size, and small', async () => {
    if (TAKE) {
      const { page } = await openPage(await scene(), '', { colorScheme, viewport });
      await page.locator('tr.row').filter({ hasText: 'Retrying' }).first().locator('.row-link').click();
      await page.locator('.json').waitFor();
      await shoot(page, 'simulator-light.png');
    }
    expectScreenshot('simulator-light.png');
  });

  test('of the dead letters is there, of its size, and small', async () => {
    if (TAKE) {
      const { page } = await openPage(await letterScene(), '', { colorScheme, viewport });
      await page.locator('.row-link').first().click();
      await page.locator('.json').waitFor();
      await shoot(page, 'dead-letters-light.png');
    }
    expectScreenshot('dead-letters-light.png');
  });
});
