// One letter as JSON: the row of the list, the masked detail, and the exact bytes for somebody who may see them.
import type { DeadLetter, DeadLetterContent } from '../../../claims/dead-letter-store.js';
import { masked, maskedHeaders } from './mask.js';

type Found = Extract<DeadLetterContent, { status: 'found' }>;

/** Field by field: a store of somebody else may list more than the contract says. */
export function letterJson(letter: DeadLetter): object {
  const { id, reason, namespace, eventName, eventId, sandbox, attempts, keptAt, code, keyId, discarded } =
    letter;
  return {
    ...{ id, reason, namespace, eventName, eventId, sandbox, attempts, keptAt, code, keyId },
    issues: letter.issues.map(({ path, message }) => ({ path, message })),
    ...(discarded && { discarded: { by: discarded.by, because: discarded.because, at: discarded.at } }),
  };
}

/** What may be seen without a trace in the log. */
export function maskedContent(content: DeadLetterContent): object {
  if (content.status !== 'found') return { content: 'unreadable', payload: null, size: 0, headers: {} };
  const { rawBody, headers } = content;
  return {
    content: 'found',
    payload: maskedPayload(rawBody),
    size: rawBody.length,
    headers: maskedHeaders(headers),
  };
}

function maskedPayload(rawBody: Buffer): unknown {
  try {
    return masked(JSON.parse(rawBody.toString()));
  } catch {
    return null;
  }
}

export function revealed({ rawBody, headers }: Found): object {
  try {
    // A byte order mark is one of the bytes.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(rawBody);
    return { body: text, headers };
  } catch {
    return { body: rawBody.toString('base64'), base64: true, headers };
  }
}
