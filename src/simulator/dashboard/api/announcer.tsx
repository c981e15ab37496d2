// Announces settled deliveries to screen readers, collected, so that a burst is one announcement.
import { useEffect, useRef, useState } from 'preact/hooks';
import { announcement } from './announcement.js';
import type { Row } from './api-types.js';

const COLLECT_MS = 1_500;

export function Announcer({ rows }: { rows: readonly Row[] }) {
  const [text, setText] = useState('');
  const latest = useRef(rows);
  latest.current = rows;
  useEffect(() => {
    let announced = latest.current;
    const timer = setInterval(() => {
      const next = announcement(announced, latest.current);
      announced = latest.current;
      if (next) setText(next);
    }, COLLECT_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="visually-hidden" aria-live="polite">
      {text}
    </p>
  );
}
