// Checks views of a page: clipped and overlapping parts, and findings of axe-core.
import type { Page } from 'playwright-core';
import { findings } from './axe.js';

interface Screen {
  readonly width: number;
  readonly height: number;
  readonly colorScheme: 'light' | 'dark';
}

type Screens = readonly [Screen, ...Screen[]];

const light = (width: number, height: number): Screen => ({ width, height, colorScheme: 'light' });
const dark = (width: number, height: number): Screen => ({ width, height, colorScheme: 'dark' });

/** From a phone to a large screen. Panels start closed on narrow screens, so each kind opens its own page. */
export const SCREENS: readonly (readonly [kind: string, screens: Screens])[] = [
  ['narrow screens', [dark(360, 740), light(390, 844), dark(768, 1024)]],
  ['wide screens', [light(1440, 900), dark(1024, 768), light(1280, 800), dark(1920, 1080)]],
];

/** Options of `openPage` for the first screen. */
export const opening = ([{ width, height, colorScheme }]: Screens) => ({
  viewport: { width, height },
  colorScheme,
});

/** The text spacing that WCAG requires: https://www.w3.org/TR/WCAG22/#text-spacing. */
function spaceText(page: Page): Promise<void> {
  return page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(
      '* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }' +
        'p { margin-block-end: 2em !important }',
    );
    document.adoptedStyleSheets.push(sheet);
  });
}

/** Returns to the list without a reload, which takes seconds. */
async function showList(page: Page): Promise<void> {
  await page.evaluate(() => {
    document.adoptedStyleSheets = [];
    document.querySelector<HTMLDialogElement>('dialog[open]')?.close();
    history.replaceState(null, '', location.pathname);
    dispatchEvent(new PopStateEvent('popstate'));
    scrollTo(0, 0);
  });
  await page.locator('dialog, .detail').waitFor({ state: 'detached' });
  await page.locator('tr.row').first().waitFor();
}

/** Opens each view from the list. */
export type Views = Readonly<Record<string, (page: Page) => Promise<unknown>>>;

/** Checks each view on each screen. axe-core checks the first screen only. */
export async function faultsOf(page: Page, views: Views, screens: readonly Screen[]): Promise<string[]> {
  const faults: string[] = [];
  for (const [name, show] of Object.entries(views)) {
    await showList(page);
    await show(page);
    for (const { width, height, colorScheme } of screens) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      const axe = width === screens[0]?.width ? await findings(page) : [];
      const found = [...(await layoutFaults(page)), ...axe];
      faults.push(...found.map((fault) => `${name}, ${width} px, ${colorScheme}: ${fault}`));
    }
    await spaceText(page);
    const spaced = await layoutFaults(page);
    faults.push(...spaced.map((fault) => `${name}, ${screens.at(-1)?.width} px, spaced: ${fault}`));
  }
  return faults;
}

/** A line for each button, label or short text that is clipped or overlaps, in the open dialog or the whole page. */
export function layoutFaults(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    await new Promise(requestAnimationFrame);
    const PARTS = 'button, label, summary, h1, h2, h3, input, select, .tag, .countdown';
    const name = (element: Element) =>
      `${element.localName}.${element.className} "${(element.textContent ?? '').trim().slice(0, 60)}"`;

    /** The visible part of an element: its box, clipped by every ancestor that clips or scrolls. */
    const visibleBox = (element: Element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      const box = { left, right, top, bottom };
      for (let outer = element.parentElement; outer; outer = outer.parentElement) {
        if (getComputedStyle(outer).overflow === 'visible') continue;
        const edge = outer.getBoundingClientRect();
        box.left = Math.max(box.left, edge.left);
        box.right = Math.min(box.right, edge.right);
        box.top = Math.max(box.top, edge.top);
        box.bottom = Math.min(box.bottom, edge.bottom);
        // The ancestors of a dialog do not clip it.
        if (outer.localName === 'dialog') break;
      }
      return box;
    };

    const shown = document.querySelector('dialog[open]') ?? document;
    const parts = [...shown.querySelectorAll(PARTS)]
      .filter((element) => element.checkVisibility({ visibilityProperty: true }))
      .filter((element) => !element.closest('.visually-hidden, .skip-link'))
      .map((element) => ({ element, box: visibleBox(element), whole: element.getBoundingClientRect() }))
      .filter(({ box }) => box.bottom - box.top > 1);

    const clipped = parts
      .filter(({ element, box, whole }) => {
        const inline = getComputedStyle(element).display === 'inline';
        const overflows = !inline && element.scrollWidth > element.clientWidth + 1;
        const cut = whole.left < box.left - 1 || whole.right > box.right + 1;
        return overflows || cut || whole.left < -1 || whole.right > innerWidth + 1;
      })
      .map(({ element }) => `clipped: ${name(element)}`);

    const overlapping = parts.flatMap(({ element, box }, index) =>
      parts
        .slice(index + 1)
        .filter((other) => !element.contains(other.element) && !other.element.contains(element))
        .filter(
          (other) =>
            Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left) > 1 &&
            Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top) > 1,
        )
        .map((other) => `overlapping: ${name(element)} and ${name(other.element)}`),
    );
    const sideways = document.documentElement.scrollWidth - innerWidth;
    return [...clipped, ...overlapping, ...(sideways > 0 ? [`the page is ${sideways} px too wide`] : [])];
  });
}
