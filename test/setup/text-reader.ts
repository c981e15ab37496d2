// Reads expressions as the texts that they can be, as far as their own file tells.
import { visit } from './sources.js';

/** The parts of swc's nodes that are looked at here. */
export interface Node {
  readonly type: string;
  readonly value?: unknown;
  readonly [field: string]: unknown;
}

/** What is filled in at run time. */
export const HOLE = '{…}';
/** An empty text among several. */
export const NOTHING = '–';

/** Reads expressions as text; constants and functions of the same file by what they hold or return. */
export class TextReader {
  readonly #named = new Map<string, Node | undefined>();

  constructor(body: unknown) {
    // A name that stands for two things is not followed: which one is meant depends on the scope.
    const name = (id: unknown, node?: Node) => {
      this.#named.set(nameOf(id), this.#named.has(nameOf(id)) ? undefined : node);
    };
    visit<Node>(body, (node) => {
      if (node.type === 'FunctionDeclaration') name(node.identifier, node);
      if (node.type === 'VariableDeclarator') name(node.id, node.init as Node);
      visit<Node>(node.params, (each) => each.type === 'Identifier' && name(each));
    });
  }

  /** The texts in the arguments of a call, also inside the lists and objects among them. */
  textsIn(value: unknown): string[] {
    if (Array.isArray(value)) return value.flatMap((each) => this.textsIn(each?.expression ?? each));
    const node = value as Node;
    if (node?.type === 'ObjectExpression')
      return (node.properties as Node[]).flatMap(({ value }) => this.textsIn(value));
    if (node?.type === 'ArrayExpression') return this.textsIn(node.elements);
    return this.#readings(node, []);
  }

  /** Every text that an expression can be; none for anything but text. */
  #readings(node: Node | undefined, seen: readonly string[]): string[] {
    const read = (each: unknown) => this.#readings(each as Node, seen);
    switch (node?.type) {
      case 'StringLiteral':
        return [String(node.value)];
      case 'TemplateLiteral':
        return [this.#template(node, seen)];
      case 'ParenthesisExpression':
      case 'TsAsExpression':
        return read(node.expression);
      case 'ConditionalExpression':
        return either([read(node.consequent), read(node.alternate)]);
      case 'BinaryExpression': {
        const [left, right] = [read(node.left), read(node.right)];
        if (node.operator !== '+') return either([left, right]);
        const one = (texts: string[]) => (texts.length === 1 ? String(texts[0]) : choice(texts));
        return left.length + right.length === 0 ? [] : [one(left) + one(right)];
      }
      case 'Identifier':
        return this.#resolve(String(node.value), seen);
      case 'CallExpression':
        return this.#resolve(nameOf(node.callee), seen);
      default:
        return [];
    }
  }

  #template(node: Node, seen: readonly string[]): string {
    const expressions = node.expressions as Node[];
    return (node.quasis as { cooked: string }[])
      .map(({ cooked }, index) => {
        const hole = expressions[index];
        return cooked + (hole ? choice(this.#readings(hole, seen)) : '');
      })
      .join('');
  }

  #resolve(name: string, seen: readonly string[]): string[] {
    const node = this.#named.get(name);
    if (!node || seen.includes(name)) return [];
    const deeper = [...seen, name];
    if (!/Function/.test(node.type)) return this.#readings(node, deeper);
    const body = node.body as Node;
    if (body.type !== 'FunctionBody') return this.#readings(body, deeper);
    const returned: string[][] = [];
    visit<Node>(body, ({ type, argument }) => {
      if (type === 'ReturnStatement') returned.push(this.#readings(argument as Node | undefined, deeper));
    });
    return either(returned);
  }
}

function nameOf(node: unknown): string {
  return String((node as Node | undefined)?.value);
}

/** One of several, of which some may be filled in at run time. */
function either(branches: readonly string[][]): string[] {
  if (branches.every((texts) => texts.length === 0)) return [];
  return branches.flatMap((texts) => (texts.length === 0 ? ['…'] : texts));
}

function choice(texts: readonly string[]): string {
  const different = [...new Set(texts)].map((text) => text || NOTHING);
  return different.length === 0 ? HOLE : `{${different.join(' | ')}}`;
}
