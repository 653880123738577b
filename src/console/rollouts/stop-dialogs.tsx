import { allBoxes, type BoardState, isInProgress } from '../../core/rollouts/index.ts'
import { api, quoted } from '../kit/index.ts'
import { left, type RolloutDialogProps, SimpleDialog } from './dialog-frame.tsx'
import { words } from './words.ts'

const { act } = words

const updated = ({ actions }: BoardState): number => allBoxes(actions).filter(({ status }) => status === 'succeeded').length
const inFlight = ({ actions }: BoardState): number => allBoxes(actions).filter(isInProgress).length

const reasonOption = (reason: string): string => (reason === '…' ? " --reason '…'" : ` --reason ${quoted(reason)}`)

export function PauseDialog(props: RolloutDialogProps) {
  const { state } = props
  const { id } = state.rollout
  return (
    <SimpleDialog
      {...props}
      reason="required"
      title={act.pauseTitle(id)}
      confirm={act.pause}
      what={act.pauseWhat(inFlight(state))}
      cli={(reason) => `tenantry rollouts pause ${id}${reasonOption(reason)}`}
      send={(reason) => api.rollouts.pauseRollout({ params: { id }, body: { reason } })}
    />
  )
}

export function AbortDialog(props: RolloutDialogProps) {
  const { state } = props
  const { id } = state.rollout
  return (
    <SimpleDialog
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
    <SimpleDialog
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
  const pending = allBoxes(state.actions).filter(({ rollback }) => rollback?.status === 'pending').length
  return (
    <SimpleDialog
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
