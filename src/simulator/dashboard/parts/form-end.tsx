// The end of a form that can be left: what was wrong with the whole of it, and its two buttons.
interface FormEndProps {
  readonly verb: string;
  readonly problem: string | undefined;
  readonly cancel: () => void;
}

export function FormEnd({ verb, problem, cancel }: FormEndProps) {
  return (
    <>
      <Problem text={problem} />
      <p class="form-actions">
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

/** What was wrong, said at once. */
export function Problem({ text }: { text: string | undefined }) {
  return (
    text !== undefined && (
      <p class="problem" role="alert">
        {text}
      </p>
    )
  );
}
