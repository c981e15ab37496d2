// A button that copies a text. Where the browser forbids it, a dialog shows the text.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from './dialog.js';
import { useAction } from './notice.js';

const SHOWN_MS = 2_000;

interface CopyButtonProps {
  readonly label: string;
  readonly text: string | (() => Promise<string>);
  readonly class?: string;
}

export function CopyButton({ label, text, class: look = 'button' }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  const [manual, setManual] = useState<string>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = useAction(async () => {
    const content = typeof text === 'string' ? text : await text();
    try {
      await navigator.clipboard.writeText(content);
    } catch {
      return setManual(content);
    }
    setCopied(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setCopied(false), SHOWN_MS);
  });
  return (
    <>
      <button type="button" class={look} onClick={() => copy()}>
        {copied ? 'Copied' : label}
      </button>
      <span class="visually-hidden" role="status">
        {copied && 'Copied'}
      </span>
      {manual !== undefined && (
        <Dialog title="Copy manually" close={() => setManual(undefined)}>
          <textarea class="code-input mono" readOnly rows={8} value={manual} aria-label={label} />
        </Dialog>
      )}
    </>
  );
}
