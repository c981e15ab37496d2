// Measures the page as it is laid out: what is clipped, and what overlaps.
import type { Page } from 'playwright-core';

export interface Screen {
  readonly width: number;
  readonly height: number;
  readonly colorScheme: 'light' | 'dark';
}

const lightAndDark = (sizes: readonly (readonly [number, number])[]): readonly Screen[] =>
  sizes.flatMap(([width, height]) =>
    (['light', 'dark'] as const).map((colorScheme) => ({ width, height, colorScheme })),
  );

/** Four sizes, light and dark. A narrow screen begins with its panels closed, so each kind opens a page of its own. */
export const SCREENS: readonly (readonly [kind: string, screens: readonly Screen[]])[] = [
  ['a narrow screen', lightAndDark([[390, 844]])],
  [
    'wide screens',
    lightAndDark([
      [1024, 768],
      [1280, 800],
      [1440, 900],
    ]),
  ],
];

/** What opens the page on the first of the screens. */
export const opening = ([screen]: readonly Screen[]) =>
  screen && { viewport: { width: screen.width, height: screen.height }, colorScheme: screen.colorScheme };

/** Shows the page on one screen after the other, and collects what is found there. */
export async function onScreens(
  page: Page,
  screens: readonly Screen[],
  ...finders: readonly ((page: Page, screen: Screen) => Promise<readonly string[]>)[]
): Promise<string[]> {
  const found: string[] = [];
  for (const screen of screens) {
    const { width, height, colorScheme } = screen;
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme });
    await page.evaluate(() => new Promise(requestAnimationFrame));
    for (const find of finders) {
      const here = await find(page, screen);
      found.push(...here.map((line) => `at ${width} px, ${colorScheme}: ${line}`));
    }
  }
  return found;
}

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

/** Buttons, labels and short texts, of the dialog if one is open: one line for each that is wrong. */
export function layoutFaults(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const PARTS =
      'button, label, summary, h1, h2, h3, input, select, .status, .tag, .countdown, .cell-code > span';
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
