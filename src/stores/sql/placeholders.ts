// A statement for any client: each placeholder occurs once, in the order of the values.

export type SqlDialect = 'postgres' | 'mysql';

/** What a placeholder is given: bytes travel as they are, and anything else as text, which every client binds alike. */
export type SqlValue = string | Buffer | null;

const BYTES = '::bytea';

export class SqlStatement {
  readonly text: string;
  /** What clients resolve with after any other statement differs, and says nothing. */
  readonly returnsRows: boolean;
  readonly #order: number[] = [];

  /** @param text names its parameters `$1`, `$2` and so on, as often and in the order it likes; Postgres casts them: `$4::float8` */
  constructor(dialect: SqlDialect, text: string) {
    this.returnsRows = /^\s*(?:SELECT|WITH)\b|\bRETURNING\b/.test(text);
    this.text = text.replace(/\$(\d+)(::\w+)?/g, (_, parameter: string, cast = '') => {
      const place = this.#order.push(Number(parameter) - 1);
      if (dialect === 'mysql') return '?';
      return cast === BYTES ? `$${place}${BYTES}` : `$${place}::text${cast === '::text' ? '' : cast}`;
    });
  }

  /** @param parameters `$1` first. @returns a value for each placeholder */
  values(parameters: readonly unknown[]): SqlValue[] {
    return this.#order.map((index) => asValue(parameters[index]));
  }
}

function asValue(value: unknown): SqlValue {
  if (value === undefined || value === null) return null;
  if (value instanceof Uint8Array) return Buffer.isBuffer(value) ? value : Buffer.from(value);
  return String(value);
}
