import { useState } from 'react'
import { allBoxes, isOpenFailure, mustSkipFailures, promotablePast } from '../../core/rollouts/index.ts'
import { ActionDialog, api, Check, Choices } from '../kit/index.ts'
import { Changed, left, type RolloutDialogProps, refreshRollouts, SimpleDialog } from './dialog-frame.tsx'
import { words } from './words.ts'

const { act } = words

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

export function PromoteDialog(props: RolloutDialogProps) {
  const { state, before } = props
  const { id } = state.rollout
  return (
    <SimpleDialog
      {...props}
      title={act.promoteTitle(id)}
      confirm={act.promote}
      what={act.promoteWhat(promotablePast(state.rollout) ?? promotablePast(before.rollout) ?? '', left(state))}
      cli={() => `tenantry rollouts promote ${id}`}
      send={() => api.rollouts.promoteRollout({ params: { id } })}
    />
  )
}
