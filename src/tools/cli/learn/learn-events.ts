// Bodies of events -> what is learned of each name.
import { isEnvelope } from '../../../events/envelope.js';
import { matchesEvent } from '../../simulator/event-pattern.js';
import { Proposer } from './proposal.js';
import { identifiersFor, type LearnedEvent } from './proposal-code.js';
import { mergeShapes, type Shape, shapeOf } from './shape.js';

/** Gathers what the payloads of events have in common; it keeps no value but words that may be a choice. */
export class EventLearner {
  readonly #pattern: string;
  readonly #events = new Map<string, { readonly sources: Map<string, number>; shape: Shape }>();
  /** Bodies that are no event. */
  skipped = 0;

  constructor(pattern = '*') {
    this.#pattern = pattern;
  }

  /** @param body parsed JSON */
  add(body: unknown): void {
    if (!isEnvelope(body)) this.skipped += 1;
    else if (matchesEvent(this.#pattern, body.event_name))
      this.#addEvent(body.event_name, body.id, body.payload);
  }

  #addEvent(name: string, id: string, payload: object): void {
    const known = this.#events.get(name);
    const sources = known?.sources ?? new Map<string, number>();
    // The same event delivered again says nothing about how often a value comes.
    const source = sources.get(id) ?? sources.size;
    sources.set(id, source);
    const shape = shapeOf(payload, source);
    this.#events.set(name, { sources, shape: known ? mergeShapes(known.shape, shape) : shape });
  }

  learned(): LearnedEvent[] {
    const names = [...this.#events.keys()].sort();
    const identifiers = identifiersFor(names);
    return names.flatMap((name) => {
      const found = this.#events.get(name);
      if (!found) return [];
      const proposal = new Proposer().propose(found.shape);
      return [{ name, count: found.sources.size, proposal, identifier: identifiers.get(name) ?? '' }];
    });
  }
}
