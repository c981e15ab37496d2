// The data of a job: the signed bytes, so that the worker decodes exactly what was checked.
import type { IncomingHttpHeaders } from 'node:http';
import type { HandlerContext } from '../handlers/handler.js';
import { withoutCredentials } from '../http/headers.js';
import { asBytes } from '../signature.js';

/** The data of a job. */
export interface QueuedDelivery {
  /** The body exactly as it was received. It is UTF-8, so a string keeps every byte. */
  readonly rawBody: string;
  /** Without the signature and credentials, so that they do not get into the queue. */
  readonly headers: IncomingHttpHeaders;
  readonly keyIndex: number;
}

type Packed = Pick<HandlerContext, 'rawBody' | 'headers' | 'keyIndex'>;

export function pack({ rawBody, headers, keyIndex }: Packed): QueuedDelivery {
  return { rawBody: rawBody.toString('utf8'), headers: withoutCredentials(headers), keyIndex };
}

/** Undefined if enqueue() did not add the job. @param given the data of a job, or the JSON of a whole job */
export function unpack(given: unknown): Packed | undefined {
  const data = typeof given === 'string' || ArrayBuffer.isView(given) ? dataIn(given) : given;
  const { rawBody, headers, keyIndex } = (data ?? {}) as {
    readonly [Field in keyof QueuedDelivery]?: unknown;
  };
  if (typeof rawBody !== 'string') return undefined;
  return {
    rawBody: Buffer.from(rawBody, 'utf8'),
    headers: typeof headers === 'object' && headers !== null ? (headers as IncomingHttpHeaders) : {},
    keyIndex: Number.isSafeInteger(keyIndex) ? (keyIndex as number) : 0,
  };
}

function dataIn(json: string | ArrayBufferView): unknown {
  try {
    return JSON.parse(asBytes(json).toString('utf8'))?.data;
  } catch {
    return undefined;
  }
}
