import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ActionDialog } from './action-dialog.tsx'
import { Button } from './controls.tsx'
import { PageHeader } from './layout.tsx'
import { Loaded } from './states.tsx'

/** One answer to what awaits a decision, with what it causes. */
export type Decision = Readonly<{
  verb: string
  look?: 'primary' | 'danger'
  title: string
  consequence: string
  reason?: 'required' | 'optional'
  cli(reason: string): string
  run(reason: string): Promise<unknown>
}>

type Props<Found> = Readonly<{
  query: UseQueryResult<Found>
  title: string
  answer: ReactNode
  /** None once it is decided. */
  decisions: readonly Decision[]
  why: string | undefined
  children(found: Found): ReactNode
}>

/** Shows a submission with a button per decision; each asks first. */
export function DecisionPage<Found>({ query, title, answer, decisions, why, children }: Props<Found>) {
  const [open, setOpen] = useState<Decision>()
  return (
    <>
      <PageHeader
        title={title}
        answer={answer}
        actions={decisions.map((decision) => (
          <Button key={decision.verb} look={decision.look ?? 'plain'} why={why} onPress={() => setOpen(decision)}>
            {decision.verb}…
          </Button>
        ))}
      />
      <Loaded query={query} rows={8}>
        {children}
      </Loaded>
      {open && (
        <ActionDialog
          title={open.title}
          consequence={open.consequence}
          {...(open.reason ? { reason: open.reason } : {})}
          confirm={open.verb}
          danger={open.look === 'danger'}
          cli={({ reason }) => open.cli(reason)}
          run={({ reason }) => open.run(reason)}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  )
}
