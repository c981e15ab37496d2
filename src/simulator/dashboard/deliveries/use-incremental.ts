// Renders a long list over several frames, so that the page stays responsive.
import { useEffect, useRef, useState } from 'preact/hooks';

const ITEMS_PER_FRAME = 40;

/** The items to render now: those rendered before, and the next new ones. */
export function useIncremental<Item extends { readonly id: string }>(
  items: readonly Item[],
): readonly Item[] {
  const [, renderMore] = useState(0);
  const before = useRef<ReadonlySet<string>>(new Set());
  let left = ITEMS_PER_FRAME;
  const rendered = items.filter(({ id }) => {
    if (before.current.has(id)) return true;
    left -= 1;
    return left >= 0;
  });
  const complete = rendered.length === items.length;
  useEffect(() => {
    before.current = new Set(rendered.map(({ id }) => id));
    if (complete) return;
    const frame = requestAnimationFrame(() => renderMore((times) => times + 1));
    return () => cancelAnimationFrame(frame);
  });
  return rendered;
}
