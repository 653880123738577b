import type { ReactNode } from 'react'
import {
  allBoxes,
  type BoardState,
  currentRollout,
  pausedPhase,
  type RolloutReport,
  rolloutState,
  timelineText,
} from '../../core/rollouts/index.ts'
import { ActionDialog, Ago, Icon, queryClient } from '../kit/index.ts'
import { reportQuery } from './queries.ts'
import { words } from './words.ts'

const { act } = words

export type RolloutDialogProps = Readonly<{
  state: BoardState
  /** As it was when the dialog was opened. */
  before: BoardState
  report: RolloutReport | undefined
  onClose(): void
}>

export const refreshRollouts = async (id: string): Promise<void> => {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['rollouts'] }),
    queryClient.invalidateQueries({ queryKey: reportQuery(id).queryKey }),
  ])
}

/** A button that was pressed on an old view: what has changed meanwhile, and by whom. */
export function Changed({ state, before, report }: Omit<RolloutDialogProps, 'onClose'>) {
  const [was, is] = [wordsOf(before), wordsOf(state)]
  if (was === is) return null
  const last = report?.timeline.at(-1)
  return (
    <div className="changed" role="status">
      <p>
        <Icon tone="warning" /> <b>{act.changed}</b>
      </p>
      <p>{act.changedNow(was, is)}</p>
      {last && report && (
        <p className="dim">
          {`${act.changedBy}: ${timelineText(last, report).join('; ')}, `}
          <Ago at={last.at} />
        </p>
      )}
    </div>
  )
}

const wordsOf = (state: BoardState): string => `${rolloutState(currentRollout(state))}${pausedPhase(state.rollout)}`

export const left = ({ actions }: BoardState): number => allBoxes(actions).filter(({ status }) => status === 'pending').length

type SimpleProps = RolloutDialogProps &
  Readonly<{
    title: string
    confirm: string
    what: ReactNode
    danger?: boolean
    reason?: 'required' | 'optional'
    cli(reason: string): string
    send(reason: string): Promise<unknown>
  }>

/** A dialog without fields but the reason. */
export const SimpleDialog = ({ title, confirm, what, danger = false, reason: wants, cli, send, onClose, ...props }: SimpleProps) => (
  <ActionDialog
    title={title}
    confirm={confirm}
    danger={danger}
    {...(wants ? { reason: wants } : {})}
    consequence={
      <>
        <Changed {...props} />
        <p>{what}</p>
      </>
    }
    cli={({ reason }) => cli(reason)}
    run={async ({ reason }) => {
      await send(reason)
      await refreshRollouts(props.state.rollout.id)
    }}
    onClose={onClose}
  />
)
