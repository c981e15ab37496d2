// Reads src as data: the imports, calls and unawaited returns of every file, for the test that holds the layout.
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { type Module, parseSync } from '@swc/core';
import { listFiles } from './list-files.js';

export interface Import {
  /** Path below src without its ending for a file of ours, else the package or `node:` module. */
  readonly from: string;
  readonly ours: boolean;
  /** Nothing of it is left when the file is compiled. */
  readonly typeOnly: boolean;
}

export interface Source {
  /** Path below src without its ending, such as `receiver/respond`. */
  readonly path: string;
  readonly lines: readonly string[];
  readonly imports: readonly Import[];
  /** Kinds of its top-level statements. */
  readonly statements: readonly string[];
  /** Lines that return a call from a `try` with a `finally` and do not await it: the `finally` runs first. */
  readonly unawaitedReturns: readonly number[];
  /** What is called by a plain name, in the order of the text. */
  readonly calls: readonly string[];
}

/** Every source file, in the order of a file list. */
export function readSources(root: string): Source[] {
  return listFiles(root)
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => readSource(name, readFileSync(`${root}/${name}`, 'utf8')));
}

/** Exported so that the reader itself can be tested on a text. */
export function readSource(name: string, text: string): Source {
  const { module, lineAt } = parseSource(name, text);
  const imports: Import[] = [];
  const calls: string[] = [];
  visit(module.body, (node) => {
    if (isImport(node)) imports.push(toImport(name, node.source.value, node.typeOnly ?? false));
    if (node.type !== 'CallExpression') return;
    if (node.callee?.type === 'Identifier' && node.callee.value) calls.push(node.callee.value);
    const [first] = node.arguments ?? [];
    if (node.callee?.type === 'Import' && first) imports.push(toImport(name, first.expression.value, false));
  });
  return {
    path: name.replace(/\.tsx?$/, ''),
    lines: text.trimEnd().split('\n'),
    imports,
    statements: module.body.slice(1).map((statement) => statement.type),
    unawaitedReturns: unawaitedReturns(module.body, false).map((node) => lineAt(node.span.start)),
    calls,
  };
}

/** The syntax tree of a file, and the line of an offset in it. */
export function parseSource(name: string, text: string): { module: Module; lineAt(offset: number): number } {
  // An empty statement in front: its offset is that of the file, whatever comments the file begins with.
  // A line for the shell (#!) would have to be the very first, so it becomes a comment of the same length.
  const code = `;${text.replace(/^#!/, '//')}`;
  const module = parseSync(code, { syntax: 'typescript', tsx: name.endsWith('x'), target: 'es2023' });
  const bytes = Buffer.from(code);
  const lineAt = (offset: number) =>
    bytes
      .subarray(0, offset - module.span.start)
      .toString('utf8')
      .split('\n').length;
  return { module, lineAt };
}

/** The parts of swc's nodes that are looked at here. */
interface Node {
  readonly type: string;
  readonly span: { readonly start: number; readonly end: number };
  readonly source?: { readonly value: string };
  readonly typeOnly?: boolean;
  readonly callee?: { readonly type: string; readonly value?: string };
  readonly arguments?: readonly { readonly expression: { readonly value: string } }[];
}

/** Calls `look` for every node, parents before their children. */
export function visit<Looked = Node>(value: unknown, look: (node: Looked) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value && ('span' in value || value.type === 'KeyValueProperty')) look(value as Looked);
  for (const child of Object.values(value)) visit(child, look);
}

function isImport(node: Node): node is Node & { source: { value: string } } {
  return /^(?:Import|Export\w+)Declaration$/.test(node.type) && Boolean(node.source);
}

/** @param guarded whether this is inside of such a `try` of an asynchronous function */
function unawaitedReturns(value: unknown, guarded: boolean, asynchronous = false): Node[] {
  if (typeof value !== 'object' || value === null) return [];
  const node = value as Node & Record<string, unknown>;
  if (isFunction(node) || node.type === 'ClassMethod' || node.type === 'PrivateMethod') {
    const { async: isAsync } = (node.function ?? node) as { async?: boolean };
    return Object.values(node).flatMap((child) => unawaitedReturns(child, false, isAsync ?? asynchronous));
  }
  if (node.type === 'ReturnStatement' && guarded && asynchronous) {
    const returned = node.argument as { type?: string; consequent?: Node; alternate?: Node } | undefined;
    const values =
      returned?.type === 'ConditionalExpression' ? [returned.consequent, returned.alternate] : [returned];
    return values.some((one) => one?.type === 'CallExpression') ? [node] : [];
  }
  if (node.type === 'TryStatement' && node.finalizer) {
    return [node.block, node.handler].flatMap((child) => unawaitedReturns(child, true, asynchronous));
  }
  return Object.values(node).flatMap((child) => unawaitedReturns(child, guarded, asynchronous));
}

function isFunction(node: Node): boolean {
  return /^(?:Function(?:Declaration|Expression)|ArrowFunctionExpression|Constructor|(?:Class|Private)Method|(?:Method|Getter|Setter)Property)$/.test(
    node.type,
  );
}

function toImport(importer: string, specifier: string, typeOnly: boolean): Import {
  if (!specifier.startsWith('.')) return { from: specifier, ours: false, typeOnly };
  const path = posix.join(posix.dirname(importer), specifier).replace(/\.jsx?$/, '');
  return { from: path, ours: true, typeOnly };
}
