import type { ReactNode } from 'react'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { Button } from './controls.tsx'
import { ProblemView } from './states.tsx'

/** One attempt at a time; its problem stays until the next. */
export function useAttempt() {
  const [state, setState] = useState<Readonly<{ busy: boolean; error?: unknown }>>({ busy: false })
  const attempt = (work: () => Promise<void>) => {
    setState({ busy: true })
    work().then(
      () => setState({ busy: false }),
      (error: unknown) => setState({ busy: false, error }),
    )
  }
  return { ...state, attempt }
}

type SheetProps = Readonly<{
  title?: string
  hint?: string
  error?: unknown
  children?: ReactNode
  onSubmit(): void
  submit: string
  busy: boolean
}>

/** A form with one button, and the problem of its last attempt. */
export const Sheet = ({ title, hint, error, children, onSubmit, submit, busy }: SheetProps) => (
  <Form
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
  >
    {title && <h1 id="page-title">{title}</h1>}
    {hint && <p className="dim">{hint}</p>}
    {children}
    {error !== undefined && <ProblemView error={error} />}
    <Button type="submit" look="primary" isDisabled={busy}>
      {submit}
    </Button>
  </Form>
)
