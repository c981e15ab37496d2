// Requests of a page to its server, and the error of one that was not served.

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

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface Server {
  /** What every path begins with; empty for paths relative to the page. */
  readonly base?: string;
  readonly name: string;
  /** What to do when it does not answer. */
  readonly ifSilent: string;
  /** What to do when it answers without saying what is wrong. */
  readonly ifUnclear?: string;
}

/** @returns a function that throws an {@link ApiError} for an answer that is an error */
export function apiClient({ base = '', name, ifSilent, ifUnclear = '' }: Server) {
  return async (method: string, path: string, body?: object, signal?: AbortSignal): Promise<Response> => {
    const response = await fetch(base + path, {
      method,
      headers: { Accept: 'application/json', ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    }).catch((error) => {
      throw signal?.aborted ? error : new ApiError(`${name} does not answer. ${ifSilent}`);
    });
    if (response.ok) return response;
    const { message, errors } = await response.json().catch(() => ({}));
    const { status } = response;
    throw new ApiError(
      message ?? `${name} answered with status ${status}. ${ifUnclear}`.trimEnd(),
      status,
      errors,
    );
  };
}
