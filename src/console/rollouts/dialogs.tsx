import { type ReactNode, useState } from 'react'
import {
  allBoxes,
  type BoardState,
  gateOf,
  isInProgress,
  isOpenFailure,
  mustSkipFailures,
  pausedPhase,
  type RolloutReport,
  rolloutState,
  timelineText,
} from '../../core/rollouts/index.ts'
import { ActionDialog, Ago, api, Icon, queryClient, quoted } from '../kit/index.ts'
import { Check, Choices } from './choice.tsx'
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
        <Icon tone="waiting" /> <b>{act.changed}</b>
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

const wordsOf = ({ rollout }: BoardState): string => `${rolloutState(rollout)}${pausedPhase(rollout)}`

const left = ({ actions }: BoardState): number => allBoxes(actions).filter(({ status }) => status === 'pending').length
const updated = ({ actions }: BoardState): number => allBoxes(actions).filter(({ status }) => status === 'succeeded').length
const inFlight = ({ actions }: BoardState): number => allBoxes(actions).filter(isInProgress).length

const reasonOption = (reason: string): string => (reason === '…' ? " --reason '…'" : ` --reason ${quoted(reason)}`)

export function StartDialog({ onClose, ...props }: RolloutDialogProps) {
  const { rollout, plan } = props.state
  const [skipRefused, setSkipRefused] = useState(false)
  const [queue, setQueue] = useState(false)
  const { id } = rollout
  const moving = plan.boxes.filter(({ does }) => does === 'update')
  const first = plan.phases.find(({ phase }) => moving.some((box) => box.phase === phase))?.phase ?? plan.phases[0]?.phase ?? ''
  const max = (of: 'expectedFenceMs' | 'worstFenceMs') => Math.max(0, ...moving.map((box) => box[of]))
  const active = plan.activeRollouts ?? []
  return (
    <ActionDialog
      title={act.startTitle(id)}
      confirm={act.start}
      consequence={
        <>
          <Changed {...props} />
          <p>{act.startWhat(plan.updates, first, plan.parallel)}</p>
          <p>{act.startDowntime(max('expectedFenceMs'), max('worstFenceMs'), plan.expectedMs)}</p>
          {plan.pauses && plan.pauses.length > 0 && <p>{act.pauses(plan.pauses)}</p>}
        </>
      }
      cli={() => `tenantry rollouts start ${id}${skipRefused ? ' --skip-refused' : ''}${queue ? ' --queue' : ''} --watch`}
      run={async () => {
        await api.rollouts.startRollout({ params: { id }, body: { skipRefused, queue } })
        await refreshRollouts(id)
      }}
      onClose={onClose}
    >
      {plan.refusals > 0 && (
        <Check isSelected={skipRefused} onChange={setSkipRefused}>
          {act.skipRefused(plan.refusals)}
        </Check>
      )}
      {active.length > 0 && (
        <Check isSelected={queue} onChange={setQueue}>
          {act.queue}
        </Check>
      )}
    </ActionDialog>
  )
}

export function PauseDialog({ onClose, ...props }: RolloutDialogProps) {
  const { id } = props.state.rollout
  return (
    <ActionDialog
      title={act.pauseTitle(id)}
      confirm={act.pause}
      reason="required"
      consequence={
        <>
          <Changed {...props} />
          <p>{act.pauseWhat(inFlight(props.state))}</p>
        </>
      }
      cli={({ reason }) => `tenantry rollouts pause ${id}${reasonOption(reason)}`}
      run={async ({ reason }) => {
        await api.rollouts.pauseRollout({ params: { id }, body: { reason } })
        await refreshRollouts(id)
      }}
      onClose={onClose}
    />
  )
}

const maxNamed = 5

export function ResumeDialog({ onClose, ...props }: RolloutDialogProps) {
  const { state } = props
  const { id } = state.rollout
  const failures = allBoxes(state.actions).filter(isOpenFailure)
  const mustSkip = mustSkipFailures(failures)
  const [failed, setFailed] = useState<string>(mustSkip ? 'skip' : 'retry')
  const slugs = failures.map(({ tenantSlug }) => tenantSlug)
  const named = slugs.length > maxNamed ? `${slugs.slice(0, maxNamed).join(', ')} and ${slugs.length - maxNamed} more` : slugs.join(', ')
  const skipFailed = failures.length > 0 && failed === 'skip'
  return (
    <ActionDialog
      title={act.resumeTitle(id)}
      confirm={act.resume}
      consequence={
        <>
          <Changed {...props} />
          <p>{act.resumeWhat(left(state))}</p>
          {mustSkip && <p>{act.mustLeaveOut}</p>}
        </>
      }
      cli={() => `tenantry rollouts resume ${id}${skipFailed ? ' --skip-failed' : ''}`}
      run={async () => {
        await api.rollouts.resumeRollout({ params: { id }, body: { skipFailed } })
        await refreshRollouts(id)
      }}
      onClose={onClose}
    >
      {failures.length > 0 && (
        <Choices
          label={act.failedChoice}
          value={failed}
          onChange={setFailed}
          choices={[
            { value: 'retry', label: act.retry(named), disabled: mustSkip },
            { value: 'skip', label: act.leaveOut(named) },
          ]}
        />
      )}
    </ActionDialog>
  )
}

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
const Simple = ({ title, confirm, what, danger = false, reason: wants, cli, send, onClose, ...props }: SimpleProps) => (
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

export function PromoteDialog(props: RolloutDialogProps) {
  const { state, before } = props
  const { id } = state.rollout
  return (
    <Simple
      {...props}
      title={act.promoteTitle(id)}
      confirm={act.promote}
      what={act.promoteWhat(gateOf(state.rollout) ?? gateOf(before.rollout) ?? '', left(state))}
      cli={() => `tenantry rollouts promote ${id}`}
      send={() => api.rollouts.promoteRollout({ params: { id } })}
    />
  )
}

export function AbortDialog(props: RolloutDialogProps) {
  const { state } = props
  const { id } = state.rollout
  return (
    <Simple
      {...props}
      danger
      reason="optional"
      title={act.abortTitle(id)}
      confirm={act.abort}
      what={act.abortWhat(updated(state), left(state))}
      cli={(reason) => `tenantry rollouts abort ${id}${reason === '…' ? '' : reasonOption(reason)}`}
      send={(reason) => api.rollouts.abortRollout({ params: { id }, body: reason ? { reason } : {} })}
    />
  )
}

export function ResumeRollbackDialog(props: RolloutDialogProps) {
  const { id } = props.state.rollout
  return (
    <Simple
      {...props}
      title={act.resumeRollbackTitle(id)}
      confirm={act.resumeRollback}
      what={act.resumeRollbackWhat}
      cli={() => `tenantry rollouts rollback ${id} --resume`}
      send={() => api.rollouts.resumeRollback({ params: { id } })}
    />
  )
}

export function StopRollbackDialog(props: RolloutDialogProps) {
  const { state } = props
  const { id } = state.rollout
  const pending = allBoxes(state.actions).filter(({ undo }) => undo?.status === 'pending').length
  return (
    <Simple
      {...props}
      danger
      reason="required"
      title={act.stopRollbackTitle(id)}
      confirm={act.stopRollback}
      what={act.stopRollbackWhat(pending)}
      cli={(reason) => `tenantry rollouts rollback ${id} --stop${reasonOption(reason)}`}
      send={(reason) => api.rollouts.stopRollback({ params: { id }, body: { reason } })}
    />
  )
}
