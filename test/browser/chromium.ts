// Opens the page of a running simulator in Chromium, and fails tests with requests to other origins.
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, jest } from '@jest/globals';
import type { Simulator } from 'payment-webhooks/simulator';
import { type Browser, chromium, type Page } from 'playwright-core';
import { needing } from '../setup/platform.js';
import { findProgram } from '../setup/programs.js';
import { until } from '../setup/waiting.js';
import { afterwards } from '../tools/simulator/world.js';

// Longer than the timeout of a single step, so that the error names the step that hangs.
jest.setTimeout(120_000);

/** Like `describe`. */
export const describeInChromium = needing('chromium').describe;

/** Undefined where there is no Chromium. */
const executablePath = findProgram('chromium');
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

let browser: Browser | undefined;
/** One for all tests of a file, because opening a window takes seconds on a busy machine. */
let page: Page;
let complaints: string[] = [];
let requested: string[] = [];

async function launch(): Promise<Browser> {
  if (!executablePath) throw new Error('Chromium is missing. On Debian: apt-get install chromium');
  const launched = await chromium.launch({ executablePath, args: FLAGS });
  page = await launched.newPage();
  page.setDefaultTimeout(25_000);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => void requested.push(request.url()));
  return launched;
}

// A simulator looks for its page when it starts.
beforeAll(() => {
  if (executablePath) execFileSync(process.execPath, ['test/setup/build-pages.js'], { stdio: 'pipe' });
});

afterAll(() => browser?.close());

interface Look {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: 'light' | 'dark';
  readonly forcedColors?: 'active';
}

export interface Opened {
  readonly page: Page;
  /** Errors and warnings of the console. A test that expects some removes them. */
  readonly complaints: string[];
}

/** Opens the page. After the test, its complaints and its requests to other origins are checked. */
export async function openPage(
  { dashboardUrl }: Pick<Simulator, 'dashboardUrl'>,
  path = '',
  { viewport = { width: 1440, height: 900 }, colorScheme = 'light', forcedColors }: Look = {},
): Promise<Opened> {
  browser ??= await launch();
  complaints = [];
  requested = [];
  afterwards(async () => {
    await page.evaluate(() => localStorage.clear());
    await leave();
    const foreign = requested.filter((url) => !url.startsWith(dashboardUrl) && !/^(?:data|about):/.test(url));
    expect({ complaints, foreign }).toEqual({ complaints: [], foreign: [] });
  });
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme, forcedColors: forcedColors ?? null });
  await load(dashboardUrl + path);
  // Key listeners are added after the first frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  return { page, complaints };
}

/** Retries once if Chromium dropped a request, as it does when a network interface of the machine changes. */
async function load(url: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await page.goto(url, { waitUntil: 'commit' });
    try {
      return await page.getByRole('main').waitFor();
    } catch (cause) {
      const said = complaints.splice(0);
      const dropped = said.length > 0 && said.every((text) => text.includes('net::ERR_'));
      if (tries === 1 && dropped) continue;
      const shown = await page.locator('body').innerText();
      throw new Error(`The page shows: ${shown}\nIts console: ${said.join('\n')}`, { cause });
    }
  }
}

/** Opens an empty document and moves the mouse away, so that the next test starts clean. */
async function leave(): Promise<void> {
  page.removeAllListeners('response');
  await page.unrouteAll();
  await page.mouse.move(0, 0);
  await page.goto('about:blank', { waitUntil: 'commit' });
}

export const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
export const dialog = (page: Page, name?: string) =>
  page.getByRole('dialog', name === undefined ? {} : { name });
export const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());
export const row = (page: Page, text: string | RegExp) => page.locator('tr.row').filter({ hasText: text });

/** The focus moves some frames after a change. */
export async function expectFocus(page: Page, wanted: RegExp): Promise<void> {
  const focused = () => page.evaluate(() => document.activeElement?.outerHTML ?? '');
  await until(async () => wanted.test(await focused())).catch(() => {});
  expect(await focused()).toMatch(wanted);
}

/** Console messages can arrive after the page shows the effect. */
export async function expectComplaints(complaints: string[], ...wanted: string[]): Promise<void> {
  await until(() => complaints.length >= wanted.length);
  expect(complaints.splice(0)).toEqual(wanted.map((text) => expect.stringContaining(text)));
}

/** Sets `window.hit` where it is taken for HTML. */
export const MARKUP = `<img src=x onerror="window.hit = 1"></pre></script><script>window.hit = 1</script>`;

/** By the content security policy. The complaint that is expected here fails any other test. */
export async function expectInlineScriptBlocked(page: Page, complaints: string[]): Promise<void> {
  const ran = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.hit = 1';
    document.body.append(script);
    return 'hit' in window;
  });
  expect(ran).toBe(false);
  await expectComplaints(complaints, 'Executing inline script violates');
}
