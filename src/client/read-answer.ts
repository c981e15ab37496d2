// The JSON of a 2xx answer -> what the method promises, through the codec.
import type { Codec } from './codec.js';
import { ConnectionError, ServiceError } from './errors.js';
import type { HttpAnswer } from './exchange.js';
import { redactJson, redactText } from './redact.js';

/** What is needed to read an answer, and to speak of it. */
export interface Reading {
  /** Method and path, for messages. */
  readonly what: string;
  /** What no message may hold. */
  readonly secrets: readonly string[];
  readonly codec: Codec;
}

/** @throws {ServiceError} for what is no JSON, or not of the shape that the codec reads */
export function readAnswer<Result>(
  { status, headers, text }: HttpAnswer,
  { what, secrets, codec }: Reading,
  read: (codec: Codec, body: unknown) => Result,
): Result {
  const body = parse(text);
  if (body === undefined) {
    const type = redactText(headers.get('content-type') ?? 'text', secrets);
    throw new ConnectionError(
      'RESPONSE_NOT_JSON',
      `${what}: answered ${status} with ${text.trim() === '' ? 'nothing' : type} where JSON was expected. Do baseUrl and apiPath lead to the API?`,
    );
  }
  try {
    return read(codec, body);
  } catch (error) {
    const reason = redactText(String((error as Error | null)?.message), secrets);
    throw new ServiceError(
      'RESPONSE_UNEXPECTED',
      `${what}: answered ${status} in a shape that the client does not read: ${reason}. Replace that function of the codec.`,
      { status, body: redactJson(body, secrets) },
    );
  }
}

/** Undefined, which no JSON document is, for anything but JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
