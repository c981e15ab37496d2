// The page of a running simulator in real Chromium; whatever a test does, nothing may leave the page's origin.
import { afterAll, beforeAll, describe, expect, jest } from '@jest/globals';
import type { Simulator } from 'payment-webhooks/simulator';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterwards } from '../simulator/world.js';
import { buildPage, CHROMIUM_IS_MISSING, executablePath, FLAGS } from './launch.js';

// Above the patience of a single step, so that the step that hangs is the one that is named.
jest.setTimeout(40_000);

/** Like `describe`. Without Chromium the tests are skipped, which would hide something in CI, so there they fail. */
export const describeInChromium = executablePath || process.env.CI === 'true' ? describe : describe.skip;

if (!executablePath) {
  console.warn('Chromium is missing, so the page is not tested. On Debian: apt-get install chromium');
}

let browser: Browser | undefined;

beforeAll(async () => {
  if (!executablePath) return;
  buildPage();
  browser = await chromium.launch({ executablePath, args: FLAGS });
}, 60_000);

afterAll(() => browser?.close());

export interface Opened {
  readonly page: Page;
  /** What the console said that should not have been said; emptied by reading. */
  readonly complaints: string[];
}

/** Opens the page; what it complained about and whom it called is checked when the test is over. */
export async function openPage(
  service: Pick<Simulator, 'dashboardUrl'>,
  path = '',
  options: BrowserContextOptions = {},
): Promise<Opened> {
  if (!browser) throw new Error(CHROMIUM_IS_MISSING);
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(8_000);
  const complaints: string[] = [];
  const foreign: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith(service.dashboardUrl) && !request.url().startsWith('data:')) {
      foreign.push(request.url());
    }
  });
  afterwards(async () => {
    await context.close();
    expect({ complaints, foreign }).toEqual({ complaints: [], foreign: [] });
  });
  await page.goto(service.dashboardUrl + path);
  await page.getByRole('main').waitFor();
  return { page, complaints };
}
