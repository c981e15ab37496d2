// Sends requests from a page to its server, and turns failures into errors.

/** The server answered with an error, or not at all (status 0). */
export class ApiError extends Error {
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
  /** Prefix of every path. By default paths are relative to the page. */
  readonly base?: string;
  readonly name: string;
  readonly ifSilent: string;
  readonly ifUnclear?: string;
}

/** @returns a function that throws an {@link ApiError} unless the request succeeds */
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
    const { status } = response;
    const unclear = `${name} answered with status ${status}. ${ifUnclear}`.trimEnd();
    const { message = unclear, errors } = await response.json().catch(() => ({}));
    throw new ApiError(message, status, errors);
  };
}
