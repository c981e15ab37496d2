// A form: sends itself once at a time, and shows the errors of its fields and of the whole.
import { useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/api.js';

export interface Form {
  readonly errors: Readonly<Record<string, readonly string[]>>;
  /** What is wrong with the form as a whole. */
  readonly problem: string | undefined;
  readonly submit: (event: Event) => void;
}

/** @param fields the names of the fields that show their own errors; any other error becomes the problem */
export function useForm(fields: readonly string[], action: () => Promise<unknown>): Form {
  const running = useRef(false);
  const [failure, setFailure] = useState<unknown>();
  const submit = async (event: Event) => {
    event.preventDefault();
    if (running.current) return;
    running.current = true;
    try {
      await action();
      setFailure(undefined);
    } catch (error) {
      setFailure(error);
    } finally {
      running.current = false;
    }
  };
  const errors = failure instanceof ApiError ? failure.fields : {};
  const shown = fields.some((field) => errors[field]);
  const message = failure instanceof Error ? failure.message : undefined;
  return { errors, problem: shown ? undefined : message, submit };
}

interface FormFooterProps {
  readonly verb: string;
  readonly problem: string | undefined;
  readonly cancel: () => void;
}

export function FormFooter({ verb, problem, cancel }: FormFooterProps) {
  return (
    <>
      <Problem text={problem} />
      <p class="cluster">
        <button type="submit" class="button primary">
          {verb}
        </button>
        <button type="button" class="button quiet" onClick={cancel}>
          Cancel
        </button>
      </p>
    </>
  );
}

/** The problem with a form, which a screen reader reads at once. */
export function Problem({ text }: { text: string | undefined }) {
  return (
    text !== undefined && (
      <p class="problem" role="alert">
        {text}
      </p>
    )
  );
}
