// A captured body: always text, never markup. JSON can be read with line breaks; the bytes stay as they are.
import { useMemo, useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy-button.js';
import { byteLength, formatBytes } from '../parts/format.js';
import { visible } from './visible.js';

export function BodyView({ label, body }: { label: string; body: string }) {
  const formatted = useMemo(() => formatJson(body), [body]);
  const [asSent, setAsSent] = useState(false);
  if (body === '') return <p class="note">{label}: empty.</p>;
  const readable = formatted !== undefined && !asSent;
  return (
    <figure class="body">
      <figcaption>
        {label} <span class="muted number">{formatBytes(byteLength(body))}</span>
        <span class="body-tools">
          {formatted !== undefined && formatted !== body && (
            <button
              type="button"
              class="button quiet small"
              aria-pressed={asSent}
              onClick={() => setAsSent(!asSent)}
            >
              As sent
            </button>
          )}
          <CopyButton label="Copy" text={body} class="button quiet small" />
        </span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it has to be reachable by keyboard */}
      <section class="body-frame" tabIndex={0} aria-label={label}>
        <pre>{visible(readable ? formatted : body)}</pre>
      </section>
    </figure>
  );
}

function formatJson(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : undefined;
  } catch {
    return undefined;
  }
}
