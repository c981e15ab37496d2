// Opens the page of a running simulator in Chromium. In every test, no request may leave its origin.
import { afterAll, beforeAll, expect, jest } from '@jest/globals';
import type { Simulator } from 'payment-webhooks/simulator';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { needing } from '../setup/platform.js';
import { until } from '../setup/waiting.js';
import { afterwards } from '../tools/simulator/world.js';
import { buildPages, CHROMIUM_IS_MISSING, executablePath, FLAGS } from './launch.js';

// Longer than the timeout of a single step, so that the error names the step that hangs.
jest.setTimeout(120_000);

/** Like `describe`. */
export const describeInChromium = needing('chromium').describe;

let browser: Browser | undefined;

beforeAll(async () => {
  if (!executablePath) return;
  buildPages();
  browser = await chromium.launch({ executablePath, args: FLAGS });
}, 120_000);

afterAll(() => browser?.close());

export interface Opened {
  readonly page: Page;
  /** Errors and warnings of the console. A test that expects some removes them. */
  readonly complaints: string[];
}

/** Opens the page. After the test, its complaints and its requests to other origins are checked. */
export async function openPage(
  service: Pick<Simulator, 'dashboardUrl'>,
  path = '',
  options: BrowserContextOptions = {},
): Promise<Opened> {
  if (!browser) throw new Error(CHROMIUM_IS_MISSING);
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(25_000);
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
  // What listens to keys begins to do so after the frame that shows it.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50))));
  return { page, complaints };
}

/** The focus follows what is shown, some frames later. */
export async function expectFocus(page: Page, wanted: RegExp): Promise<void> {
  const focused = () => document.activeElement?.outerHTML ?? '';
  await page
    .waitForFunction((text) => new RegExp(text).test(document.activeElement?.outerHTML ?? ''), wanted.source)
    .catch(() => {});
  expect(await page.evaluate(focused)).toMatch(wanted);
}

/** What the browser says on its console comes when the page shows the effect, or some time later. */
export async function expectComplaints(complaints: string[], ...wanted: string[]): Promise<void> {
  await until(() => complaints.length >= wanted.length);
  expect(complaints.splice(0)).toEqual(wanted.map((text) => expect.stringContaining(text)));
}
