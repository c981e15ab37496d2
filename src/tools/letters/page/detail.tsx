// One dead letter: why it was kept, its actions, and its payload, masked at first.
import { Fragment } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, messageOf } from '../../web/components/api-client.js';
import { Button } from '../../web/components/button.js';
import { Age } from '../../web/components/clock.js';
import { BodyView, HeaderTable } from '../../web/components/code-view.js';
import { DetailFrame, Diagnosis, useLoaded } from '../../web/components/columns.js';
import { CopyLine } from '../../web/components/copy-button.js';
import { formatBytes, formatPause, showInvisible } from '../../web/components/format.js';
import { JsonTree } from '../../web/components/json-tree.js';
import { useAnnounce } from '../../web/components/page-frame.js';
import { api, type LetterContent, type Revealed } from './api.js';
import { nameOf } from './count-text.js';
import { Reason } from './reason.js';
import { usePage, type Work } from './use-letters.js';

/** Closes itself when the letter is gone after a replay or discard, which change `version`. */
export function Detail({ id, version, close }: { id: string; version: number; close: () => void }) {
  const load = async () => {
    // Asked first, because browsers log every 404 as an error.
    const isThere = version === 0 || (await api.isThere(id));
    return isThere ? api.letter(id) : null;
  };
  const { data: content, error } = useLoaded(load, [id, version]);
  const gone = content === null || (version > 0 && error instanceof ApiError && error.status === 404);
  useEffect(() => {
    if (gone) close();
  }, [gone]);
  const letter = content?.letter;
  const { setWork } = usePage();
  const open = (kind: Work['kind'], what: string) => () => setWork({ kind, target: { id }, what });
  return (
    <DetailFrame
      title={letter ? showInvisible(letter.eventName) : 'Dead letter'}
      closeLabel="Close dead letter"
      close={close}
      problem={error === undefined ? undefined : messageOf(error)}
      head={
        letter && (
          <>
            <p class="cluster">
              <Reason reason={letter.reason} />
              {letter.sandbox && <span class="tag">sandbox</span>}
            </p>
            <CopyLine label="Event" name="event ID" text={letter.eventId} />
            {letter.keyId !== undefined && <CopyLine label="Key ID" name="key ID" text={letter.keyId} />}
            <p class="cluster">
              <Button
                look={content.wouldRun ? 'primary' : ''}
                text="Replay"
                act={open('replay', nameOf(letter))}
              />
              <Button look="danger" text="Discard" act={open('discard', nameOf(letter))} />
            </p>
          </>
        )
      }
    >
      {content && (
        <>
          <Diagnosis tone="fault" icon="fault" label="Diagnosis" text={content.diagnosis.join(' ')} />
          <Facts content={content} />
          <Issues issues={content.letter.issues} />
          {content.content === 'found' && <Content content={content} />}
        </>
      )}
    </DetailFrame>
  );
}

function Facts({ content: { letter, size, content } }: { content: LetterContent }) {
  const { keptAt, attempts, nextTry, code, cause, id } = letter;
  const wait = nextTry && formatPause(Math.max(Date.parse(nextTry) - Date.now(), 0), 1);
  const facts = [
    ['First kept', <Age key="at" at={keptAt} />],
    ['Attempts', attempts],
    ['Next try', wait && `in ${wait}`],
    ['Code', code],
    ['Cause', cause && showInvisible(cause)],
    ['Size', content === 'found' ? formatBytes(size) : undefined],
    ['Letter ID', id],
  ] as const;
  const known = facts.filter(([, fact]) => fact !== undefined);
  return (
    <dl class="facts">
      {known.map(([name, fact]) => (
        <Fragment key={name}>
          <dt class="muted">{name}</dt>
          <dd class="wrap">{fact}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** Where the payload does not match its schema. */
function Issues({ issues }: Pick<LetterContent['letter'], 'issues'>) {
  if (issues.length === 0) return null;
  return (
    <section class="stack tight" aria-labelledby="issues-title">
      <h3 id="issues-title">Schema errors</h3>
      <dl class="issues stack tight">
        {issues.map(({ path, message }, index) => (
          <div key={index}>
            <dt class="mono wrap">{showInvisible(path)}</dt>
            <dd class="muted wrap">{showInvisible(message)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Content({ content }: { content: LetterContent }) {
  const [revealed, setRevealed] = useState<Revealed>();
  const announce = useAnnounce();
  const user = usePage().loaded?.summary.user;
  const { letter, payload, headers } = content;
  const toggle = async () => {
    if (revealed) return setRevealed(undefined);
    setRevealed(await api.reveal(letter.id));
    announce('The payload is revealed.');
  };
  return (
    <>
      <div class="stack tight">
        <div class="spread">
          <h3>Payload</h3>
          <Button look="small" text={revealed ? 'Hide values' : 'Reveal values'} act={toggle} />
        </div>
        <p class="note">
          {revealed
            ? 'This was logged.'
            : `Each value is masked: this shows its type. Revealing the values is logged${user ? ` (${user})` : ''}.`}
        </p>
        {revealed?.base64 && <p class="note">The bytes are not UTF-8. They are shown as Base64.</p>}
        {revealed ? (
          <BodyView label="Body" body={revealed.body} rawLabel="As received" />
        ) : payload === null ? (
          <p class="note">The body is not JSON, so it cannot be shown masked.</p>
        ) : (
          <JsonTree label="Payload, masked" value={Object(payload)} />
        )}
      </div>
      <div class="stack tight">
        <h3>Headers</h3>
        <HeaderTable label="Headers" headers={Object.entries(revealed?.headers ?? headers)} />
      </div>
    </>
  );
}
