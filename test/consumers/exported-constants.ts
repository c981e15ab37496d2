// Modules that export what the doors give, without an annotation: their declarations have to name every type in it.
import { DOORS } from '../setup/doors.js';

/** Arguments of the types that cannot do without. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  DeepPartial: '<object>',
  EventFixture: '<string, object>',
  EventOf: "<'transaction.paid'>",
  JobOptionsOf: '<door.Boss>',
  HandlerClaim: '<object>',
  Matching: "<'*'>",
  Once: '<object>',
  OnceContract: '<object>',
  OnceSync: '<object>',
  RunTransaction: '<object>',
  SqlDatabase: '<object>',
  SqliteDatabase: '<object>',
  TransactionOf: '<object>',
  WithOnce: '<object>',
  WithOnceSync: '<object>',
};

/** The compiler writes the type of a member only where nothing names the whole. */
const HELPERS = `
declare function membersOf<T>(): { [K in keyof T]: T[K] };
declare function resultOf<T>(value: T): T extends (...args: never) => infer Result
  ? Result
  : T extends abstract new (...args: never) => infer Instance
    ? { [K in keyof Instance]: Instance[K] }
    : T;
`;

/** By name of its file: for each door the results of its functions, with no other door in the program. */
export function resultsByDoor(): [file: string, text: string][] {
  return Object.entries(DOORS).map(([door, { values }]) => [
    `results-of-${door.replace(/\W+/g, '-')}.mts`,
    [`import * as door from '${specifierOf(door)}';`, HELPERS, ...values.map(resultOf)].join('\n'),
  ]);
}

function resultOf(value: string): string {
  return `export const ${value}Result = resultOf(door.${value});`;
}

/** The members of every type of every door: what a program that imports all of them may reach. */
export function membersOfAllTypes(): string {
  const modules = Object.entries(DOORS).map(([door, { types, values }], index) => {
    const name = `door${index}`;
    const members = types.map((type) => {
      const given = `${type}${ARGUMENTS[type] ?? ''}`.replace('<door.', `<${name}.`);
      return `export const ${name}${type} = membersOf<${name}.${given}>();`;
    });
    const results = values.map((value) =>
      resultOf(value).replace('door.', `${name}.`).replace(value, `${name}${value}`),
    );
    return [`import * as ${name} from '${specifierOf(door)}';`, ...members, ...results].join('\n');
  });
  return HELPERS + modules.join('\n');
}

function specifierOf(door: string): string {
  return door.replace('.', 'payment-webhooks');
}
