// Runs axe-core in a page, and returns its findings.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(__filename).resolve('axe-core/axe.min.js'), 'utf8');

type Axe = {
  run(
    context: Document | Element,
    options: object,
  ): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
};

/**
 * Returns a line for each finding of axe-core, in the open dialog if there is one: nothing else can be reached then. Runs
 * from outside, so that the content security policy of the page needs no exception.
 */
export async function findings(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const shown = document.querySelector('dialog[open]') ?? document;
    // Leaves out what takes half the time and is not used.
    const options = { resultTypes: ['violations'], selectors: false, elementRef: false };
    const found = await (globalThis as unknown as { axe: Axe }).axe.run(shown, options);
    return found.violations.map(({ id, impact, nodes }) => ({
      id,
      impact,
      html: nodes.map(({ html }) => html),
    }));
  });
  return violations.map(({ id, impact, html }) => `${impact} ${id}: ${html.join(' | ')}`);
}
