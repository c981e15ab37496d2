// Answers a failed request to the simulator with JSON, and logs what is a fault of the simulator.
import type { ErrorRequestHandler } from 'express';
import { ConfigurationError } from '../../../errors.js';
import { describeError, type Logger, writeLog } from '../../../logger.js';
import { HttpError } from '../../web/http-error.js';

const PARSER_MESSAGES: ReadonlyMap<string, string> = new Map([
  ['entity.parse.failed', 'The body is not valid JSON.'],
  ['entity.too.large', 'The body is larger than 1 MB.'],
  ['encoding.unsupported', 'The body must not be compressed.'],
  ['charset.unsupported', 'The body must be UTF-8.'],
]);

/** The last handler. Answers never contain a stack. */
export function answerErrors(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    const { status, message, errors } = httpErrorOf(error);
    if (status >= 500) writeLog(logger, 'error', { error: describeError(error) }, 'a request failed');
    response.status(status).json({ message, errors });
  };
}

function httpErrorOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (ConfigurationError.is(error)) return new HttpError(422, error.message);
  const { status = 500, type = '' } = error as { status?: number; type?: string };
  if (status < 400 || status >= 500) return new HttpError(500, 'The simulator failed.');
  return new HttpError(status, PARSER_MESSAGES.get(type) ?? 'The request is malformed.');
}
