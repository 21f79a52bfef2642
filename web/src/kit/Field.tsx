import { clsx } from "clsx";
import { Check, ChevronDown } from "lucide-react";
import { Select as RadixSelect, Switch as RadixSwitch } from "radix-ui";
import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type TextareaHTMLAttributes,
  useContext,
  useId,
} from "react";

interface Wiring {
  id: string;
  describedBy: string | undefined;
  invalid: boolean;
}
const FieldContext = createContext<Wiring | null>(null);
/** Ties a control of your own to the label, hint and error of the field around it. */
export function useField(): { id?: string; "aria-describedby"?: string; "aria-invalid"?: true } {
  const field = useContext(FieldContext);
  if (field === null) return {};
  return {
    id: field.id,
    ...(field.describedBy === undefined ? {} : { "aria-describedby": field.describedBy }),
    ...(field.invalid ? { "aria-invalid": true as const } : {}),
  };
}

export interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  error?: ReactNode;
  children: ReactNode;
  /** A word at the right of the label, such as "optional". */
  aside?: ReactNode;
  className?: string | undefined;
}
export function Field({ label, hint, error, children, aside, className }: FieldProps) {
  const id = useId();
  const hasError = error !== undefined && error !== null && error !== "";
  const hasHint = hint !== undefined && hint !== null && hint !== "";
  const describedBy = [hasError ? `${id}-error` : null, hasHint ? `${id}-hint` : null].filter(Boolean).join(" ");
  return (
    <div className={clsx("min-w-0", className)}>
      <div className="mb-1.5 flex items-baseline justify-between gap-3">
        <label htmlFor={id} id={`${id}-label`} className="font-medium text-ink">
          {label}
        </label>
        {aside !== undefined && <span className="text-xs text-ink-3">{aside}</span>}
      </div>
      <FieldContext value={{ id, describedBy: describedBy === "" ? undefined : describedBy, invalid: hasError }}>
        {children}
      </FieldContext>
      {hasError && (
        <p id={`${id}-error`} role="alert" className="mt-1.5 text-xs text-bad">
          {error}
        </p>
      )}
      {hasHint && (
        <p id={`${id}-hint`} className="mt-1.5 text-xs text-ink-3">
          {hint}
        </p>
      )}
    </div>
  );
}

export const controlLook =
  "w-full min-w-0 rounded-card border border-line-strong bg-surface text-sm text-ink transition-colors duration-100 " +
  "hover:border-ink-3 focus-visible:border-accent focus-visible:outline-offset-0 aria-invalid:border-bad-line " +
  "disabled:cursor-not-allowed disabled:bg-sunken disabled:text-ink-3";

export interface InputProps extends InputHTMLAttributes<HTMLInputElement> {
  mono?: boolean;
  /** Something fixed before the text: "$", an icon. */
  before?: ReactNode;
  after?: ReactNode;
  ref?: Ref<HTMLInputElement>;
}
export function Input({ mono = false, before, after, className, ...rest }: InputProps) {
  const field = useField();
  const input = (
    <input
      autoComplete="off"
      {...field}
      {...rest}
      className={clsx(
        controlLook,
        "h-9",
        before === undefined ? "pl-3" : "pl-8",
        after === undefined ? "pr-3" : "pr-10",
        mono && "num text-[13px]!",
        className,
      )}
    />
  );
  if (before === undefined && after === undefined) return input;
  return (
    <span className="relative block min-w-0">
      {before !== undefined && (
        <span className="pointer-events-none absolute inset-y-0 left-0 flex w-8 items-center justify-center text-ink-3 [&_svg]:size-4">
          {before}
        </span>
      )}
      {input}
      {after !== undefined && <span className="absolute inset-y-0 right-0 flex items-center pr-1">{after}</span>}
    </span>
  );
}

export interface TextareaProps extends TextareaHTMLAttributes<HTMLTextAreaElement> {
  mono?: boolean;
  ref?: Ref<HTMLTextAreaElement>;
}
export function Textarea({ mono = false, className, ...rest }: TextareaProps) {
  const field = useField();
  return (
    <textarea
      rows={4}
      {...field}
      {...rest}
      className={clsx(controlLook, "block resize-y px-3 py-2", mono && "num text-[13px]!", className)}
    />
  );
}

export interface Option<V extends string = string> {
  value: V;
  label: ReactNode;
  /** A second line in the list. */
  hint?: ReactNode;
  disabled?: boolean;
}
export interface SelectProps<V extends string> {
  value: V;
  onChange: (value: V) => void;
  options: readonly Option<V>[];
  placeholder?: string | undefined;
  disabled?: boolean | undefined;
  size?: "small" | "normal" | undefined;
  "aria-label"?: string | undefined;
  className?: string | undefined;
}
// Radix keeps "" for "nothing chosen"; a filter's "all" is exactly that, so it goes under another name.
const NOTHING = "\u0000";
export function Select<V extends string>(props: SelectProps<V>) {
  const { value, onChange, options, placeholder, disabled = false, size = "normal", className } = props;
  const field = useField();
  return (
    <RadixSelect.Root
      value={value === "" ? NOTHING : value}
      onValueChange={(next) => onChange((next === NOTHING ? "" : next) as V)}
      disabled={disabled}
    >
      <RadixSelect.Trigger
        {...field}
        aria-label={props["aria-label"]}
        className={clsx(
          controlLook,
          "flex items-center justify-between gap-2 text-left",
          size === "small" ? "h-8 px-2.5 text-[13px]" : "h-9 px-3",
          className,
        )}
      >
        <span className="min-w-0 truncate">
          <RadixSelect.Value placeholder={placeholder ?? ""} />
        </span>
        <RadixSelect.Icon>
          <ChevronDown aria-hidden className="size-4 text-ink-3" />
        </RadixSelect.Icon>
      </RadixSelect.Trigger>
      <RadixSelect.Portal>
        <RadixSelect.Content
          position="popper"
          sideOffset={4}
          className="anim-fade z-50 max-h-[min(24rem,var(--radix-select-content-available-height))] max-w-[calc(100vw-2rem)] min-w-(--radix-select-trigger-width) overflow-hidden rounded-card border border-line bg-surface shadow-raised"
        >
          <RadixSelect.Viewport className="p-1">
            {options.map((option) => (
              <RadixSelect.Item
                key={option.value}
                value={option.value === "" ? NOTHING : option.value}
                disabled={option.disabled ?? false}
                className="flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-sm outline-none select-none data-disabled:opacity-50 data-highlighted:bg-hover"
              >
                <span className="min-w-0 flex-1">
                  <RadixSelect.ItemText>{option.label}</RadixSelect.ItemText>
                  {option.hint !== undefined && <span className="block text-xs text-ink-3">{option.hint}</span>}
                </span>
                <span className="size-4 shrink-0">
                  <RadixSelect.ItemIndicator>
                    <Check aria-hidden className="size-4 text-accent-ink" />
                  </RadixSelect.ItemIndicator>
                </span>
              </RadixSelect.Item>
            ))}
          </RadixSelect.Viewport>
        </RadixSelect.Content>
      </RadixSelect.Portal>
    </RadixSelect.Root>
  );
}

export interface SwitchProps {
  checked: boolean;
  onChange: (checked: boolean) => void;
  label: ReactNode;
  hint?: ReactNode;
  disabled?: boolean;
}
export function Switch({ checked, onChange, label, hint, disabled = false }: SwitchProps) {
  const id = useId();
  return (
    <div className="flex items-start gap-3">
      <RadixSwitch.Root
        id={id}
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        className="relative mt-0.5 h-5 w-9 shrink-0 rounded-full bg-line-strong transition-colors duration-100 disabled:opacity-55 data-[state=checked]:bg-accent"
      >
        <RadixSwitch.Thumb className="block size-4 translate-x-0.5 rounded-full bg-on-accent shadow-sm transition-transform duration-100 data-[state=checked]:translate-x-[18px]" />
      </RadixSwitch.Root>
      <div className="min-w-0">
        <label htmlFor={id} className="font-medium text-ink">
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="mt-0.5 text-xs text-ink-3">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

export interface CheckboxProps {
  checked: boolean;
  onChange: (checked: boolean) => void;
  label: ReactNode;
  hint?: ReactNode;
  disabled?: boolean;
}
export function Checkbox({ checked, onChange, label, hint, disabled = false }: CheckboxProps) {
  const id = useId();
  return (
    <div className="flex items-start gap-2.5">
      <span className="relative mt-0.5 size-4 shrink-0">
        <input
          id={id}
          type="checkbox"
          checked={checked}
          disabled={disabled}
          aria-describedby={hint === undefined ? undefined : `${id}-hint`}
          onChange={(event) => onChange(event.target.checked)}
          className="peer size-4 cursor-pointer appearance-none rounded border border-line-strong bg-surface checked:border-accent checked:bg-accent disabled:opacity-55"
        />
        <Check
          aria-hidden
          strokeWidth={3}
          className="pointer-events-none absolute inset-0.5 hidden size-3 text-on-accent peer-checked:block"
        />
      </span>
      <div className="min-w-0">
        <label htmlFor={id} className="text-ink">
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="mt-0.5 text-xs text-ink-3">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}
