// A captured body, always as text. JSON is shown with line breaks, or as it was sent.
import { useMemo, useState } from 'preact/hooks';
import { CopyButton } from '../components/copy-button.js';
import { byteLength, formatBytes, showInvisible } from '../components/format.js';

export function BodyView({ label, body }: { label: string; body: string }) {
  const formatted = useMemo(() => formatJson(body), [body]);
  const [raw, setRaw] = useState(false);
  if (body === '') return <p class="note">{label}: empty</p>;
  return (
    <figure class="body">
      <figcaption class="note cluster">
        <b>{label}</b> {formatBytes(byteLength(body))}
        <span class="toolbar">
          {formatted !== undefined && formatted !== body && (
            <button type="button" class="button quiet small" aria-pressed={raw} onClick={() => setRaw(!raw)}>
              Raw
            </button>
          )}
          <CopyButton label="Copy" text={body} class="button quiet small" />
        </span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <section class="code-block" tabIndex={0} aria-label={label}>
        <pre class="wrap">{showInvisible(raw ? body : (formatted ?? body))}</pre>
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
