// What a dialog is opened for: to replay or to discard one letter, or all that match.
import { createContext } from 'preact';
import type { Target } from './api.js';

export interface Work {
  readonly kind: 'replay' | 'discard';
  readonly target: Target;
  /** What is meant, in words. */
  readonly what: string;
}

/** Opens the dialog. */
export const WorkContext = createContext<(work: Work) => void>(() => {});
