// One dead letter: why it was not processed, what can be done with it, and what was kept of it.
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../../pages/components/api-error.js';
import { formatBytes, formatTimeExactly, showInvisible } from '../../pages/components/format.js';
import { Icon } from '../../pages/components/icon.js';
import { Age } from './age.js';
import { api, type LetterContent } from './api.js';
import { Content } from './content.js';
import { DetailHeader } from './detail-header.js';

interface DetailProps {
  readonly id: string;
  /** Another one after something was done with letters. */
  readonly version: number;
  /** Who uses the page. */
  readonly user: string | undefined;
  readonly close: () => void;
}

export function Detail({ id, version, user, close }: DetailProps) {
  const { content, problem } = useContent(id, version, close);
  const letter = content?.letter;
  return (
    <section class="detail letter stack" aria-labelledby="detail-title">
      <DetailHeader id={id} letter={letter} close={close} />
      {problem !== undefined && (
        <p class="callout tone-failed wrap" role="status">
          {problem}
        </p>
      )}
      {content && (
        <>
          <Diagnosis sentences={content.diagnosis} />
          <Facts content={content} />
          <Issues issues={content.letter.issues} />
          {content.content === 'found' && <Content content={content} user={user} />}
        </>
      )}
    </section>
  );
}

interface LoadedContent {
  readonly content?: LetterContent;
  /** Why the last request failed. */
  readonly problem?: string;
}

/** The letter as it is now. One that is gone after something was done with it is closed. */
function useContent(id: string, version: number, close: () => void): LoadedContent {
  const [loaded, setLoaded] = useState<LoadedContent>({});
  useEffect(() => {
    let wanted = true;
    // Asked first, because a browser complains of an answer of 404.
    const isThere = version === 0 ? Promise.resolve(true) : api.isThere(id);
    const content = isThere.then((there) => (there ? api.letter(id) : undefined));
    content.then(
      (found) => {
        if (!wanted) return;
        if (found) setLoaded({ content: found });
        else close();
      },
      (error: unknown) => {
        if (!wanted) return;
        if (version > 0 && error instanceof ApiError && error.status === 404) close();
        else setLoaded({ problem: error instanceof Error ? error.message : String(error) });
      },
    );
    return () => {
      wanted = false;
    };
  }, [id, version]);
  return loaded;
}

/** The verdict in bold, and what to do. */
function Diagnosis({ sentences: [verdict, ...others] }: { sentences: readonly string[] }) {
  if (verdict === undefined) return null;
  return (
    <div class="callout tone-fault">
      <Icon name="fault" />
      <p class="wrap">
        <span class="visually-hidden">Diagnosis: </span>
        <strong>{showInvisible(verdict)}</strong> {showInvisible(others.join(' '))}
      </p>
    </div>
  );
}

function Facts({ content: { letter, size, content } }: { content: LetterContent }) {
  const { keptAt, attempts, code, id } = letter;
  return (
    <dl class="facts">
      <dt>First kept</dt>
      <dd>
        <Age at={keptAt} /> <span class="muted">({formatTimeExactly(keptAt)})</span>
      </dd>
      <dt>Attempts</dt>
      <dd>{attempts}</dd>
      {code !== undefined && (
        <>
          <dt>Code</dt>
          <dd class="mono">{code}</dd>
        </>
      )}
      {content === 'found' && (
        <>
          <dt>Size</dt>
          <dd>{formatBytes(size)}</dd>
        </>
      )}
      <dt>Letter ID</dt>
      <dd class="mono wrap">{id}</dd>
    </dl>
  );
}

/** Where the payload does not fit its schema. */
function Issues({ issues }: Pick<LetterContent['letter'], 'issues'>) {
  if (issues.length === 0) return null;
  return (
    <section class="stack" aria-labelledby="issues-title">
      <h3 id="issues-title">Where it does not fit</h3>
      <dl class="issues">
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
