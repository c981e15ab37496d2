// A request that cannot be granted, with the status that says so over HTTP.
import type { ErrorRequestHandler } from 'express';
import { ConfigurationError } from '../errors.js';
import type { FieldErrors } from './faults.js';

export class Refusal extends Error {
  readonly status: number;
  readonly errors: FieldErrors | undefined;

  constructor(status: number, message: string, errors?: FieldErrors) {
    super(message);
    this.status = status;
    this.errors = errors;
  }

  /** What was sent does not do, field by field. */
  static invalid(errors: FieldErrors): Refusal {
    return new Refusal(422, Object.values(errors).flat().join(' '), errors);
  }

  static unknown(what: string, id: string): Refusal {
    return new Refusal(404, `There is no ${what} with the id ${JSON.stringify(id.slice(0, 100))}.`);
  }
}

const PARSER_MESSAGES: ReadonlyMap<string, string> = new Map([
  ['entity.parse.failed', 'The body is not valid JSON.'],
  ['entity.too.large', 'The body is larger than 1 MB.'],
  ['encoding.unsupported', 'The body must not be compressed.'],
  ['charset.unsupported', 'The body must be UTF-8.'],
]);

/** The last handler: turns what was thrown into an answer, and never shows a stack. */
export const answerRefusal: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
  if (error instanceof Refusal) {
    const { status, message, errors } = error;
    response.status(status).json({ message, ...(errors ? { errors } : {}) });
    return;
  }
  // A program would be thrown it; a request gets its words.
  if (ConfigurationError.is(error)) {
    response.status(422).json({ message: error.message });
    return;
  }
  const { status = 500, type = '' } = error as { status?: number; type?: string };
  const client = Number.isInteger(status) && status >= 400 && status < 500;
  const message =
    PARSER_MESSAGES.get(type) ?? (client ? 'The request is malformed.' : 'The simulator failed.');
  response.status(client ? status : 500).json({ message });
};
