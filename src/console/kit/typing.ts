/** True where a letter is text, not a shortcut. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** True where a control takes letters for itself: a text, or a list that is chosen from. */
export const isBlocked = (target: EventTarget | null): boolean =>
  isTyping(target) || (target instanceof HTMLElement && target.closest('[aria-haspopup], [role=listbox], [role=radiogroup]') !== null)

/** True without a focus, and with that of a new page. */
export const isPageItself = (target: EventTarget | null): boolean =>
  target === document.body || (target as HTMLElement | null)?.id === 'main'
