// Copies a text, and says so; where the browser forbids it, shows the text to be copied by hand.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from './dialog.js';
import { useAction } from './notice.js';

const SAID_MS = 2_000;

interface CopyButtonProps {
  readonly label: string;
  readonly text: string | (() => Promise<string>);
  readonly class?: string;
}

export function CopyButton({ label, text, class: look = 'button' }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  const [byHand, setByHand] = useState<string>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = useAction(async () => {
    const content = typeof text === 'string' ? text : await text();
    try {
      await navigator.clipboard.writeText(content);
    } catch {
      return setByHand(content);
    }
    setCopied(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setCopied(false), SAID_MS);
  });
  return (
    <>
      <button type="button" class={look} onClick={() => copy()}>
        {copied ? 'Copied' : label}
      </button>
      <span class="visually-hidden" role="status">
        {copied && 'Copied'}
      </span>
      {byHand !== undefined && (
        <Dialog title="Copy this by hand" close={() => setByHand(undefined)}>
          <textarea class="code-input" readOnly rows={8} value={byHand} aria-label={label} />
        </Dialog>
      )}
    </>
  );
}
