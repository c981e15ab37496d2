// The error of a failed request, with its status, its message, and messages by field.
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
