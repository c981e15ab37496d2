// A button that copies a text, or shows it in a dialog if the browser denies access to the clipboard.
import { useState } from 'preact/hooks';
import { Button } from './button.js';
import { Dialog } from './dialog.js';
import { showInvisible } from './format.js';

interface CopyButtonProps {
  readonly text: string | (() => Promise<string>);
  readonly label: string;
  readonly name?: string;
  readonly look?: string;
}

/** Reserves room for both labels, so that nothing moves. */
export function CopyButton({ text, label, name = label, look = '' }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  const [manual, setManual] = useState<string>();
  const copy = async () => {
    const content = typeof text === 'string' ? text : await text();
    try {
      await navigator.clipboard.writeText(content);
      setCopied(true);
      setTimeout(() => setCopied(false), 2_000);
    } catch {
      setManual(content);
    }
  };
  return (
    <>
      <Button look={look} label={copied ? 'Copied' : name} act={copy}>
        <span class="swap">
          <span class={copied ? 'hidden' : undefined}>{label}</span>
          <span class={copied ? undefined : 'hidden'}>Copied</span>
        </span>
      </Button>
      <span class="visually-hidden" role="status">
        {copied && 'Copied'}
      </span>
      {manual !== undefined && (
        <Dialog title="Copy manually" closed={() => setManual(undefined)}>
          <textarea class="mono" readOnly rows={8} value={manual} aria-label={name} />
        </Dialog>
      )}
    </>
  );
}

/** A text to use elsewhere, such as an id. */
export function CopyLine({ label, name, text }: { label: string; name: string; text: string }) {
  return (
    <p class="cluster">
      <span class="muted">{label}</span>
      <span class="mono wrap">{showInvisible(text)}</span>
      <CopyButton label="Copy" name={`Copy ${name}`} text={text} look="quiet small" />
    </p>
  );
}
