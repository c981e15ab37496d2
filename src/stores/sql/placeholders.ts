// A statement for any client: each placeholder occurs once, in the order of the values.

export type SqlDialect = 'postgres' | 'mysql';

/** Bytes travel as bytes. Anything else is sent as text, which every client binds alike, and cast by the server. */
const BYTES = '::bytea';

export class SqlStatement {
  readonly text: string;
  readonly #order: number[] = [];

  /** @param text names its parameters `$1`, `$2` and so on, as often and in the order it likes; Postgres casts them: `$4::float8` */
  constructor(dialect: SqlDialect, text: string) {
    this.text = text.replace(/\$(\d+)(::\w+)?/g, (_, parameter: string, cast = '') => {
      const place = this.#order.push(Number(parameter) - 1);
      if (dialect === 'mysql') return '?';
      return cast === BYTES ? `$${place}${BYTES}` : `$${place}::text${cast === '::text' ? '' : cast}`;
    });
  }

  /** @param parameters `$1` first. @returns a value for each placeholder */
  values(parameters: readonly unknown[]): unknown[] {
    return this.#order.map((index) => asText(parameters[index]));
  }
}

function asText(value: unknown): unknown {
  return value === undefined || value === null || value instanceof Uint8Array
    ? (value ?? null)
    : String(value);
}
