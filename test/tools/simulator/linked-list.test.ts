import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Linked, LinkedList } from '../../../src/tools/simulator/delivery/linked-list.js';

class Item extends Linked<Item> {
  readonly label: number;

  constructor(label: number) {
    super();
    this.label = label;
  }
}

/** The labels from first to last, having checked that every link has its counterpart. */
function labels(list: LinkedList<Item>): number[] {
  const found: number[] = [];
  let before: Item | undefined;
  for (let item = list.first; item; item = item.next) {
    expect(item.previous).toBe(before);
    expect(item.list).toBe(list);
    found.push(item.label);
    before = item;
  }
  expect(list.size).toBe(found.length);
  return found;
}

function listOf(...items: Item[]): LinkedList<Item> {
  const list = new LinkedList<Item>();
  for (const item of items) list.append(item);
  return list;
}

describe('LinkedList', () => {
  test('is empty at first', () => {
    expect(labels(new LinkedList())).toEqual([]);
  });

  test('keeps the order in which items were appended', () => {
    expect(labels(listOf(new Item(1), new Item(2), new Item(3)))).toEqual([1, 2, 3]);
  });

  test.each([
    ['first', 0, [2, 3]],
    ['middle', 1, [1, 3]],
    ['last', 2, [1, 2]],
  ])('removes the %s item, and takes further ones behind the rest', (_, index, rest) => {
    const items = [new Item(1), new Item(2), new Item(3)];
    const list = listOf(...items);
    const removed = items[index] as Item;
    list.remove(removed);
    expect(labels(list)).toEqual(rest);
    expect(removed).toMatchObject({ previous: undefined, next: undefined, list: undefined });
    list.append(new Item(4));
    expect(labels(list)).toEqual([...rest, 4]);
  });

  test('is empty again, and usable, once its only item is gone', () => {
    const item = new Item(1);
    const list = listOf(item);
    list.remove(item);
    expect(labels(list)).toEqual([]);
    list.append(item);
    expect(labels(list)).toEqual([1]);
  });

  test('moves an item that is appended again to its end', () => {
    const item = new Item(1);
    const list = listOf(item, new Item(2));
    list.append(item);
    expect(labels(list)).toEqual([2, 1]);
    list.append(item);
    expect(labels(list)).toEqual([2, 1]);
  });

  test('takes an item out of the list that it was in', () => {
    const item = new Item(1);
    const from = listOf(item, new Item(2));
    const to = listOf(new Item(3));
    to.append(item);
    expect([labels(from), labels(to)]).toEqual([[2], [3, 1]]);
  });

  test('leaves alone what is in another list, or in none', () => {
    const item = new Item(1);
    const [own, other] = [listOf(item), listOf(new Item(2))];
    other.remove(item);
    other.remove(new Item(3));
    expect([labels(own), labels(other)]).toEqual([[1], [2]]);
  });

  test('does what two arrays would do, whatever is asked of it', () => {
    const commands = fc.array(fc.tuple(fc.constantFrom('append', 'remove'), fc.nat(1), fc.nat(5)), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(commands, (steps) => {
        const items = Array.from({ length: 6 }, (_, label) => new Item(label));
        const lists = [new LinkedList<Item>(), new LinkedList<Item>()];
        const models: number[][] = [[], []];
        for (const [verb, which, label] of steps) {
          const [list, item] = [lists[which] as LinkedList<Item>, items[label] as Item];
          if (verb === 'append') {
            list.append(item);
            for (const [index, model] of models.entries())
              models[index] = model.filter((each) => each !== label);
            models[which]?.push(label);
          } else {
            list.remove(item);
            models[which] = models[which]?.filter((each) => each !== label) ?? [];
          }
        }
        expect(lists.map(labels)).toEqual(models);
      }),
    );
  });
});
