// The error of a request that the server did not serve.

/** The server answered with an error, or did not answer (status 0). */
export class ApiError extends Error {
  /** The problems of each field. */
  readonly fields: Readonly<Record<string, readonly string[]>>;
  readonly status: number;

  constructor(message: string, status = 0, fields: ApiError['fields'] = {}) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}
