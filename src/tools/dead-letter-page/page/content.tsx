// The payload and the headers of a letter: masked until someone asks to see them.
import { useContext, useState } from 'preact/hooks';
import { AnnounceContext } from '../../pages/components/announcer.js';
import { Button } from '../../pages/components/button.js';
import { BodyView, CodeBlock, HeaderTable } from '../../pages/components/code-view.js';
import { api, type LetterContent, type Revealed } from './api.js';

interface ContentProps {
  readonly content: LetterContent;
  readonly user: string | undefined;
}

export function Content({ content, user }: ContentProps) {
  const [revealed, setRevealed] = useState<Revealed>();
  const announce = useContext(AnnounceContext);
  const { letter, payload, headers } = content;
  const reveal = async () => {
    setRevealed(await api.reveal(letter.id));
    announce('The payload is revealed.');
  };
  return (
    <>
      <div class="stack payload">
        <div class="spread">
          <h3>Payload</h3>
          {revealed ? (
            <Button look="small" act={() => setRevealed(undefined)}>
              Hide values
            </Button>
          ) : (
            <Button look="small" act={reveal}>
              Reveal values
            </Button>
          )}
        </div>
        <p class="note">
          {revealed
            ? 'This was logged.'
            : `Each value is masked: this shows its type. Who reveals the values is logged${user ? ` (${user})` : ''}.`}
        </p>
        {revealed ? <RevealedBody revealed={revealed} /> : <MaskedBody payload={payload} />}
      </div>
      <div class="stack">
        <h3>Headers</h3>
        <HeaderTable label="Headers" headers={Object.entries(revealed?.headers ?? headers)} />
      </div>
    </>
  );
}

function RevealedBody({ revealed: { body, base64 } }: { revealed: Revealed }) {
  return (
    <>
      {base64 && <p class="note">The bytes are not UTF-8. They are shown as Base64.</p>}
      <BodyView label="Body" body={body} rawLabel="As received" />
    </>
  );
}

function MaskedBody({ payload }: Pick<LetterContent, 'payload'>) {
  if (payload === null) return <p class="note">The body is not JSON that can be shown masked.</p>;
  return <CodeBlock label="Payload, masked" text={JSON.stringify(payload, null, 2)} />;
}
