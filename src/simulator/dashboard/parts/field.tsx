// A form field with its label, and what was wrong with it.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** What the control itself needs to be named and described. */
export interface FieldControl {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly errors?: readonly string[] | undefined;
  readonly children: (control: FieldControl) => ComponentChildren;
}

export function Field({ label, hint, errors = [], children }: FieldProps) {
  const id = useId();
  const described = hint !== undefined || errors.length > 0;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-describedby': described ? `${id}-about` : undefined,
        'aria-invalid': errors.length > 0,
      })}
      {described && (
        <p id={`${id}-about`} class={errors.length > 0 ? 'field-about problem' : 'field-about'}>
          {errors.length > 0 ? errors.join(' ') : hint}
        </p>
      )}
    </div>
  );
}
