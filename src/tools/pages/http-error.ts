// The error of a failed request, and its JSON answer.
import type { ErrorRequestHandler } from 'express';
import { ConfigurationError } from '../../errors.js';
import { describeError, type Logger, writeLog } from '../../logger.js';

type FieldErrors = { readonly [field: string]: readonly string[] | undefined };

export class HttpError extends Error {
  readonly status: number;
  readonly errors: FieldErrors | undefined;

  constructor(status: number, message: string, errors?: FieldErrors) {
    super(message);
    this.status = status;
    this.errors = errors;
  }

  static invalid(errors: FieldErrors): HttpError {
    return new HttpError(422, Object.values(errors).flat().join(' '), errors);
  }

  static unknown(what: string, id: string): HttpError {
    return new HttpError(404, `There is no ${what} with the id ${JSON.stringify(id.slice(0, 100))}.`);
  }
}

const PARSER_MESSAGES: ReadonlyMap<string, string> = new Map([
  ['entity.parse.failed', 'The body is not valid JSON.'],
  ['entity.too.large', 'The body is larger than 1 MB.'],
  ['encoding.unsupported', 'The body must not be compressed.'],
  ['charset.unsupported', 'The body must be UTF-8.'],
]);

/** The last handler. Answers never contain a stack. */
export function answerErrors(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    const { status, ...body } = answerTo(error);
    if (status >= 500) writeLog(logger, 'error', { error: describeError(error) }, 'a request failed');
    response.status(status).json(body);
  };
}

function answerTo(error: unknown): { status: number; message: string; errors?: FieldErrors } {
  if (error instanceof HttpError) {
    const { status, message, errors } = error;
    return { status, message, ...(errors ? { errors } : {}) };
  }
  if (ConfigurationError.is(error)) return { status: 422, message: error.message };
  const { status, type = '' } = error as { status?: number; type?: string };
  if (status === undefined || status < 400 || status >= 500)
    return { status: 500, message: 'The simulator failed.' };
  return { status, message: PARSER_MESSAGES.get(type) ?? 'The request is malformed.' };
}
