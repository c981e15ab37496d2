// Looks at views of a page: what is clipped, what overlaps, and what axe-core finds.
import type { Page } from 'playwright-core';
import { findings } from './axe.js';

interface Screen {
  readonly width: number;
  readonly height: number;
  readonly colorScheme: 'light' | 'dark';
}

/** From a phone to a large screen. A narrow screen begins with its panels closed, so each kind opens a page of its own. */
export const SCREENS: readonly (readonly [kind: string, screens: readonly [Screen, ...Screen[]]])[] = [
  [
    'narrow screens',
    [
      { width: 360, height: 740, colorScheme: 'dark' },
      { width: 390, height: 844, colorScheme: 'light' },
      { width: 768, height: 1024, colorScheme: 'dark' },
    ],
  ],
  [
    'wide screens',
    [
      { width: 1440, height: 900, colorScheme: 'light' },
      { width: 1024, height: 768, colorScheme: 'dark' },
      { width: 1280, height: 800, colorScheme: 'light' },
      { width: 1920, height: 1080, colorScheme: 'dark' },
    ],
  ],
];

/** What opens the page on the first of the screens. */
export const opening = ([{ width, height, colorScheme }]: readonly [Screen, ...Screen[]]) => ({
  viewport: { width, height },
  colorScheme,
});

/** As much space as a reader may set: https://www.w3.org/TR/WCAG22/#text-spacing. */
export function spaceText(page: Page): Promise<void> {
  return page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(
      '* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }' +
        'p { margin-block-end: 2em !important }',
    );
    document.adoptedStyleSheets.push(sheet);
  });
}

export interface View {
  readonly name: string;
  /** Gets there from the list. */
  readonly show: (page: Page) => Promise<unknown>;
}

/** What is wrong in each view of one page, on one screen after the other; axe-core looks at the first. */
export async function faultsOf(
  page: Page,
  url: string,
  views: readonly View[],
  screens: readonly Screen[],
): Promise<string[]> {
  const faults: string[] = [];
  for (const { name, show } of views) {
    await page.goto(url);
    await page.locator('tr.row').first().waitFor();
    await show(page);
    for (const { width, height, colorScheme } of screens) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      await page.evaluate(() => new Promise(requestAnimationFrame));
      const axe = width === screens[0]?.width ? await findings(page) : [];
      const found = [...(await layoutFaults(page)), ...axe];
      faults.push(...found.map((fault) => `${name}, ${width} px, ${colorScheme}: ${fault}`));
    }
    await spaceText(page);
    const spaced = await layoutFaults(page);
    faults.push(...spaced.map((fault) => `${name}, ${screens.at(-1)?.width} px, spaced: ${fault}`));
    const [first] = screens;
    if (first) await page.setViewportSize(first);
  }
  return faults;
}

/** Buttons, labels and short texts, of the dialog if one is open: one line for each that is wrong. */
export function layoutFaults(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const PARTS = 'button, label, summary, h1, h2, h3, input, select, .tag, .countdown';
    const name = (element: Element) =>
      `${element.localName}.${element.className} "${(element.textContent ?? '').trim().slice(0, 60)}"`;

    /** What an element shows of itself: its box, cut by every ancestor that clips or scrolls. */
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
        // What a dialog stands in does not clip it.
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
