// Learns from payloads and runs the code that is proposed: its schema and its fixture.
import { transformSync } from '@swc/core';
import * as zod from 'zod';
import { eventCode, type LearnedEvent, moduleCode } from '../../../../src/tools/cli/learn/proposal.js';
import { eventLearner } from '../../../../src/tools/cli/learn.js';

export const NAME = 'refund.succeeded';

/** @param payloads as JSON text, so that every key can be in them */
export function learnedFrom(payloads: readonly string[], name = NAME): LearnedEvent {
  const learner = eventLearner();
  for (const [index, payload] of payloads.entries()) {
    const head = JSON.stringify({ id: `event-${index}`, event_name: name, sandbox: false });
    learner.add(JSON.parse(`${head.slice(0, -1)},"payload":${payload}}`));
  }
  const [learned] = learner.learned();
  if (!learned || learner.skipped > 0) throw new Error('a body was not taken for an event');
  return learned;
}

export function runCode(learned: LearnedEvent) {
  const { code } = transformSync(moduleCode([learned]), {
    jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
    module: { type: 'commonjs' },
  });
  const exports: Record<string, unknown> = {};
  new Function('require', 'exports', code)(() => zod, exports);
  return {
    schema: exports[`${learned.identifier}Payload`] as zod.ZodType,
    fixture: exports[`${learned.identifier}Fixture`],
    events: exports.events as Readonly<Record<string, zod.ZodType>>,
  };
}

/** The code of what is learned from these payloads. */
export function codeFrom(...payloads: readonly object[]): string {
  return eventCode(learnedFrom(payloads.map((payload) => JSON.stringify(payload))));
}
