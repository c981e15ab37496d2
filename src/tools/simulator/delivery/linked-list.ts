// A doubly linked list whose items carry their own links: append, remove and first take constant time.

/** An item can be in one list at a time. */
export abstract class Linked<Item extends Linked<Item>> {
  previous: Item | undefined = undefined;
  next: Item | undefined = undefined;
  list: LinkedList<Item> | undefined = undefined;
}

/**
 * Oldest first. A Map or Set would remember order too, but finding its first key again after many removals
 * walks over every removed slot: 52 µs at 100,000 entries, more than a round trip to Redis.
 */
export class LinkedList<Item extends Linked<Item>> {
  first: Item | undefined = undefined;
  #last: Item | undefined = undefined;
  size = 0;

  /** Moves the item to the end of this list, out of whichever list it was in. */
  append(item: Item): void {
    item.list?.remove(item);
    item.list = this;
    item.previous = this.#last;
    if (this.#last) this.#last.next = item;
    else this.first = item;
    this.#last = item;
    this.size += 1;
  }

  remove(item: Item): void {
    if (item.list !== this) return;
    if (item.previous) item.previous.next = item.next;
    else this.first = item.next;
    if (item.next) item.next.previous = item.previous;
    else this.#last = item.previous;
    item.previous = undefined;
    item.next = undefined;
    item.list = undefined;
    this.size -= 1;
  }
}
