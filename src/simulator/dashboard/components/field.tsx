// Form fields: a label, a control, and the hint or the errors that describe it.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface Labelled {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly errors?: readonly string[] | undefined;
}

/** The attributes that give a control its name and its description. */
interface ControlAttributes {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
}

interface FieldProps extends Labelled {
  readonly children: (control: ControlAttributes) => ComponentChildren;
}

export function Field({ label, hint, errors = [], children }: FieldProps) {
  const id = useId();
  const invalid = errors.length > 0;
  const description = invalid ? errors.join(' ') : hint;
  const describedBy = description === undefined ? undefined : `${id}-description`;
  return (
    <div class="field stack">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': describedBy, 'aria-invalid': invalid })}
      {describedBy && (
        <p id={describedBy} class={invalid ? 'note problem' : 'note'}>
          {description}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps extends Labelled {
  readonly value: string;
  readonly change: (value: string) => void;
  readonly type?: 'text' | 'url' | 'number';
  readonly class?: 'mono';
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly list?: string;
  readonly min?: number;
  readonly max?: number;
}

export function TextField({ label, value, change, hint, errors, ...attributes }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} errors={errors}>
      {(control) => (
        <input
          {...attributes}
          {...control}
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface SelectFieldProps extends Labelled {
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly value: string;
  readonly change: (value: string) => void;
}

export function SelectField({ options, value, change, ...field }: SelectFieldProps) {
  return (
    <Field {...field}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => change(event.currentTarget.value)}>
          {options.map(([option, label]) => (
            <option key={option} value={option}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
