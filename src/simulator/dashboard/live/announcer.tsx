// Tells screen readers what settled, gathered, so that a burst is one sentence.
import { useEffect, useRef, useState } from 'preact/hooks';
import { announcement } from './announcement.js';
import type { Row } from './wire.js';

const PAUSE_MS = 1_500;

export function Announcer({ rows }: { rows: readonly Row[] }) {
  const [text, setText] = useState('');
  const latest = useRef(rows);
  latest.current = rows;
  useEffect(() => {
    let told = latest.current;
    const timer = setInterval(() => {
      const news = announcement(told, latest.current);
      told = latest.current;
      if (news) setText(news);
    }, PAUSE_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="visually-hidden" aria-live="polite">
      {text}
    </p>
  );
}
