// A form: the browser keeps and validates its values, and errors of the server appear under their fields.
import { type ComponentChildren, createContext, type TargetedEvent } from 'preact';
import { useContext, useId, useRef, useState } from 'preact/hooks';
import { ApiError } from './api-client.js';
import { Button } from './button.js';
import { CloseContext } from './dialog.js';

const ErrorsContext = createContext<ApiError['fields']>({});

interface FormProps {
  readonly verb: string;
  readonly submit: (values: FormData) => Promise<unknown>;
  readonly cancelVerb?: string;
  readonly disabled?: boolean;
  /** Keeps the dialog open after the form was submitted. */
  readonly stay?: boolean;
  readonly danger?: boolean;
  readonly children?: ComponentChildren;
}

/** Ignores a submit while one is running, and closes its dialog afterwards. An error without a field appears above the button. */
export function Form(props: FormProps) {
  const close = useContext(CloseContext);
  const { verb, submit, cancelVerb = 'Cancel', disabled, stay, danger, children } = props;
  const running = useRef(false);
  const [errors, setErrors] = useState<ApiError['fields']>({});
  const [problem, setProblem] = useState<string>();
  const send = async (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (running.current) return;
    running.current = true;
    const failure: unknown = await submit(new FormData(form)).catch((error) => error);
    running.current = false;
    const fields = failure instanceof ApiError ? failure.fields : {};
    const shown = Object.keys(fields).some((name) => form.elements.namedItem(name));
    setErrors(fields);
    setProblem(failure instanceof Error && !shown ? failure.message : undefined);
    if (!(failure instanceof Error || stay)) close?.();
  };
  return (
    <form class="stack" onSubmit={send} onKeyDown={submitOnEnter}>
      <ErrorsContext.Provider value={errors}>{children}</ErrorsContext.Provider>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <p class="cluster">
        <button type="submit" class={danger ? 'button primary danger' : 'button primary'} disabled={disabled}>
          {verb}
        </button>
        {close && <Button look="quiet" text={cancelVerb} act={close} />}
      </p>
    </form>
  );
}

/** Ctrl+Enter or Cmd+Enter, also in a textarea. */
function submitOnEnter(event: TargetedEvent<HTMLFormElement, KeyboardEvent>): void {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
}

type TextName = 'value' | 'defaultValue' | 'class' | 'placeholder' | 'list' | 'pattern';

interface FieldProps
  extends Partial<Readonly<Record<TextName, string>>>,
    Partial<Readonly<Record<'min' | 'max' | 'maxLength', number>>> {
  readonly label: string;
  readonly name: string;
  readonly type?: 'url' | 'number';
  readonly change?: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly invalid?: boolean;
  /** Makes it a select. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  /** Makes it a textarea. */
  readonly rows?: number;
  readonly required?: boolean;
  readonly autofocus?: boolean;
}

export function Field({ label, name, hint, invalid, options, change, ...attributes }: FieldProps) {
  const id = useId();
  const errors = useContext(ErrorsContext)[name];
  const description = errors?.join(' ') ?? hint;
  const Control = (options ? 'select' : attributes.rows ? 'textarea' : 'input') as 'input';
  return (
    <div class="field stack">
      <label for={id}>{label}</label>
      <Control
        id={id}
        name={name}
        aria-describedby={description === undefined ? undefined : `${id}-description`}
        aria-invalid={invalid || errors !== undefined}
        autocomplete="off"
        spellcheck={false}
        {...(attributes.rows && { ref: startAtBeginning })}
        onInput={(event) => change?.(event.currentTarget.value)}
        {...attributes}
      >
        {options?.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </Control>
      {description !== undefined && (
        <p id={`${id}-description`} class={errors ? 'note problem' : 'note'}>
          {description}
        </p>
      )}
    </div>
  );
}

/** A browser puts the caret at the end of a textarea, and scrolls there. */
function startAtBeginning(field: HTMLInputElement | null): void {
  field?.setSelectionRange(0, 0);
}
