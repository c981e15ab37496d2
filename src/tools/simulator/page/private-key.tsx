// Rotates the private key of the account, and shows the new key once.
import { useState } from 'preact/hooks';
import { CopyButton } from '../../web/components/copy-button.js';
import { DialogButton } from '../../web/components/dialog.js';
import { Form } from '../../web/components/form.js';
import { Panel } from '../../web/components/page-frame.js';
import { api } from './api.js';

export function PrivateKeyPanel() {
  return (
    <Panel title="Private key" id="private-key">
      <p class="note">Signs every delivery and authenticates API requests. Rotate it if it leaks.</p>
      <DialogButton keep title="Rotate private key">
        <Rotation />
      </DialogButton>
    </Panel>
  );
}

function Rotation() {
  const [key, setKey] = useState<string>();
  if (key !== undefined)
    return (
      <>
        {/* The button that had the focus is gone. */}
        <p ref={takeFocus} tabIndex={-1}>
          The new private key. Copy it now: the page does not show it again.
        </p>
        <code class="code-block digest wrap">{key}</code>
        <p>
          <CopyButton label="Copy" name="Copy the private key" text={key} />
        </p>
        <p>
          Start your app with it as <code>SERVICE_PRIVATE_KEY</code>. To see what an endpoint with the old key
          answers, trigger an event first.
        </p>
      </>
    );
  return (
    <Form verb="Rotate" stay submit={async () => setKey(await api.rotateKey())} cancelVerb="Keep">
      <p>
        Create a new private key? It will sign every delivery, including retries, and the API will refuse the
        old key.
      </p>
      <p>An endpoint that knows only the old key answers 401 until it gets the new one.</p>
    </Form>
  );
}

function takeFocus(element: HTMLElement | null): void {
  element?.focus();
}
