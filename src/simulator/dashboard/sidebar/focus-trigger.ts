// Goes to the first field of the trigger, and unfolds its panel for that.
export function focusTrigger(): void {
  const panel = document.querySelector<HTMLDetailsElement>('#trigger');
  if (!panel) return;
  panel.open = true;
  panel.querySelector('input')?.focus();
}
