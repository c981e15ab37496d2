// Shows a body and headers, always as text.
import { useMemo, useState } from 'preact/hooks';
import { Button } from './button.js';
import { CopyButton } from './copy-button.js';
import { byteLength, formatBytes, showInvisible } from './format.js';
import { JsonTree } from './json-tree.js';

type Headers = readonly (readonly [name: string, value: string])[];

export function HeaderTable({ label, headers }: { label: string; headers: Headers }) {
  return (
    <table class="headers mono wrap" aria-label={label}>
      <tbody>
        {headers.map(([name, value], index) => (
          <tr key={index}>
            <th class="muted" scope="row">
              {showInvisible(name)}
            </th>
            <td>{showInvisible(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface BodyViewProps {
  readonly label: string;
  readonly body: string;
  /** Label of the button that shows the unformatted text. */
  readonly rawLabel: string;
}

/** Shows JSON as a tree or, after a click, as text. */
export function BodyView({ label, body, rawLabel }: BodyViewProps) {
  const json = useMemo(() => readJson(body), [body]);
  const [raw, setRaw] = useState(false);
  if (body === '') return <p class="note">{label}: empty</p>;
  return (
    <figure>
      <figcaption class="note cluster">
        <b>{label}</b> {formatBytes(byteLength(body))}
        <span class="toolbar">
          {json !== undefined && (
            <Button look="quiet small" aria-pressed={raw} text={rawLabel} act={() => setRaw(!raw)} />
          )}
          <CopyButton label="Copy" text={body} look="quiet small" />
        </span>
      </figcaption>
      {json === undefined || raw ? (
        <CodeBlock label={label} text={body} />
      ) : (
        <JsonTree label={label} value={json} />
      )}
    </figure>
  );
}

/** A browser needs seconds to lay out a longer text. */
const SHOWN_CHARACTERS = 200_000;

function CodeBlock({ label, text }: { label: string; text: string }) {
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > SHOWN_CHARACTERS;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <section class="code-block" tabIndex={0} aria-label={label}>
        <pre class="wrap">{showInvisible(cut ? text.slice(0, SHOWN_CHARACTERS) : text)}</pre>
      </section>
      {cut && (
        <p class="note cluster">
          The first {SHOWN_CHARACTERS.toLocaleString('en')} characters.
          <Button
            look="small"
            text={`Show all ${formatBytes(byteLength(text))}`}
            act={() => setWhole(true)}
          />
        </p>
      )}
    </>
  );
}

/** Undefined unless the text is an object or array, and short enough for a tree. */
function readJson(text: string): object | undefined {
  if (text.length > SHOWN_CHARACTERS) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
