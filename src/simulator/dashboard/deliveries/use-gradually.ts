// Draws a long list over several frames: the first items at once, the rest right after.
import { useEffect, useRef, useState } from 'preact/hooks';

const A_FRAME = 40;

/** The items that are drawn by now. What was drawn before stays; what is new comes in turn. */
export function useGradually<Item extends { readonly id: string }>(items: readonly Item[]): readonly Item[] {
  const [, drawMore] = useState(0);
  const before = useRef<ReadonlySet<string>>(new Set());
  let left = A_FRAME;
  const drawn = items.filter(({ id }) => {
    if (before.current.has(id)) return true;
    left -= 1;
    return left >= 0;
  });
  const whole = drawn.length === items.length;
  useEffect(() => {
    before.current = new Set(drawn.map(({ id }) => id));
    if (whole) return;
    const frame = requestAnimationFrame(() => drawMore((times) => times + 1));
    return () => cancelAnimationFrame(frame);
  });
  return drawn;
}
