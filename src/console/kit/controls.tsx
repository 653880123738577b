import { type ButtonHTMLAttributes, type ReactNode, useId, useRef, useState } from 'react'
import { Hint } from './hint.tsx'
import { Icon } from './status.tsx'
import { useKitTexts } from './texts.tsx'

type Look = 'plain' | 'primary' | 'danger' | 'quiet'

type ButtonProps = Pick<ButtonHTMLAttributes<HTMLButtonElement>, 'type' | 'autoFocus' | 'aria-label' | 'aria-expanded'> &
  Readonly<{ look?: Look; why?: string | undefined; isDisabled?: boolean; onPress?(): void; children: ReactNode }>

/** `why`: the button is disabled and says so; it stays reachable by keyboard, so that everyone can read why. */
export function Button({ look = 'plain', why, isDisabled = false, onPress, type = 'button', ...more }: ButtonProps) {
  const className = `button ${look}`
  if (why) return <RefusedButton {...more} className={`${className} refused`} why={why} />
  return <button {...more} type={type} className={className} disabled={isDisabled} onClick={() => onPress?.()} />
}

type RefusedProps = Pick<ButtonProps, 'autoFocus' | 'aria-label' | 'children'> & Readonly<{ className: string; why: string }>

function RefusedButton({ why, ...more }: RefusedProps) {
  const [isShown, setShown] = useState(false)
  const [button, id] = [useRef<HTMLButtonElement>(null), useId()]
  const [show, hide] = [() => setShown(true), () => setShown(false)]
  return (
    <>
      <button
        {...more}
        ref={button}
        type="button"
        aria-disabled
        {...(isShown ? { 'aria-describedby': id } : {})}
        onPointerEnter={show}
        onPointerLeave={hide}
        onFocus={show}
        onBlur={hide}
        onKeyDown={({ key }) => key === 'Escape' && hide()}
      />
      {isShown && (
        <Hint id={id} of={button.current}>
          {why}
        </Hint>
      )}
    </>
  )
}

/** Copies a text; says that it did. */
export function CopyButton({ text, label }: Readonly<{ text: string; label?: string }>) {
  const texts = useKitTexts()
  const [state, setState] = useState<'idle' | 'copied' | 'refused'>('idle')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const copy = async () => {
    const next = await navigator.clipboard.writeText(text).then(
      () => 'copied' as const,
      () => 'refused' as const,
    )
    setState(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setState('idle'), 2000)
  }
  return (
    <button
      type="button"
      className="copy"
      aria-label={state === 'idle' ? (label ?? texts.copy) : state === 'copied' ? texts.copied : texts.notCopied}
      onClick={() => void copy()}
    >
      {state === 'copied' ? (
        <Icon tone="ok" />
      ) : (
        <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
          <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
          <path d="M10.5 5.5v-1.500a1.500 1.500 0 0 0 -1.500 -1.500h-5a1.500 1.500 0 0 0 -1.500 1.500v5a1.500 1.500 0 0 0 1.500 1.500h1.500" />
        </svg>
      )}
    </button>
  )
}

/** An id, version or digest, with its copy button; `short` is what is shown of it. */
export function Id({ children, short }: Readonly<{ children: string; short?: string }>) {
  const texts = useKitTexts()
  return (
    <span className="id">
      <code title={short ? children : undefined}>{short ?? children}</code>
      <CopyButton text={children} label={texts.copyOf(children)} />
    </span>
  )
}

/** The command that does the same, to copy. */
export const CliLine = ({ children }: Readonly<{ children: string }>) => (
  <div className="cli">
    <code>{children}</code>
    <CopyButton text={children} label="Copy command" />
  </div>
)

/** Whether keys are worth naming: a touch device has none. */
export const hasKeys = globalThis.matchMedia?.('(hover: hover), (pointer: fine)').matches ?? true

/** How the key of the palette is named on this machine. */
export const paletteKey = /Mac|iP(hone|ad)/.test(globalThis.navigator?.userAgent ?? '') ? '⌘K' : 'Ctrl K'
