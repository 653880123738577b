import { useState } from 'react'
import {
  allBoxes,
  type BoardState,
  boardModel,
  isOpenFailure,
  isOver,
  promotablePast,
  type RolloutReport,
  skippedBoxes,
} from '../../core/rollouts/index.ts'
import { Button, Link, now, useMay, usePaletteAction, useRole } from '../kit/index.ts'
import { planOf } from './plan-words.ts'
import { RollbackDialog } from './rollback-dialog.tsx'
import { PromoteDialog, ResumeDialog, StartDialog } from './start-dialogs.tsx'
import { AbortDialog, PauseDialog, ResumeRollbackDialog, StopRollbackDialog } from './stop-dialogs.tsx'
import { words } from './words.ts'

const { act } = words

type Action = 'start' | 'pause' | 'resume' | 'promote' | 'abort' | 'rollback' | 'resumeRollback' | 'stopRollback'

const dialogs = {
  start: StartDialog,
  pause: PauseDialog,
  resume: ResumeDialog,
  promote: PromoteDialog,
  abort: AbortDialog,
  rollback: RollbackDialog,
  resumeRollback: ResumeRollbackDialog,
  stopRollback: StopRollbackDialog,
} as const satisfies Record<Action, unknown>

/** The buttons that this state allows. A dialog stays open while the state changes, and says so. */
export function RolloutActions({ state, report }: Readonly<{ state: BoardState; report: RolloutReport | undefined }>) {
  const [opened, setOpened] = useState<Readonly<{ action: Action; before: BoardState }>>()
  const why = useMay('rollouts', 'pauseRollout').why
  const role = useRole()
  const isForAdmins = state.rollout.kind === 'emergency_cve' && role !== 'admin' && !why
  const open = (action: Action) => setOpened({ action, before: state })
  usePaletteAction(why ? {} : Object.fromEntries(actionsOf(state).map((action) => [action, () => open(action)])))
  const Dialog = opened && dialogs[opened.action]
  return (
    <>
      {actionsOf(state).map((action, at) => (
        <Button
          key={action}
          look={at === 0 && (action === 'start' || action === 'resume') ? 'primary' : 'plain'}
          why={why ?? (action === 'start' && isForAdmins ? act.emergencyRole(role) : undefined)}
          onPress={() => open(action)}
        >
          {`${act[action]}…`}
        </Button>
      ))}
      <UpdateSkipped state={state} />
      {Dialog && <Dialog state={state} before={opened.before} report={report} onClose={() => setOpened(undefined)} />}
    </>
  )
}

/** After the end a skipped box is updated by a small rollout of its own: the plan of these boxes alone. */
function UpdateSkipped({ state: { rollout, actions } }: Readonly<{ state: BoardState }>) {
  const slugs = rollout.status === 'done' ? skippedBoxes(allBoxes(actions)) : []
  if (slugs.length === 0) return null
  return (
    <Link to={planOf(slugs)} className="button">
      {words.page.updateSkipped(slugs.length)}
    </Link>
  )
}

function actionsOf(state: BoardState): readonly Action[] {
  const { rollout } = state
  const { status } = rollout
  if (status === 'queued') return ['start', 'abort']
  const rolling = rollbackActions(state)
  if (rolling) return rolling
  const promote: readonly Action[] = promotablePast(rollout) ? ['promote'] : []
  if (status === 'paused') return ['resume', ...promote, 'abort', 'rollback']
  if (!isOver(status)) return ['pause', ...promote, 'abort', 'rollback']
  return allBoxes(state.actions).some((action) => action.status === 'succeeded') ? ['rollback'] : []
}

/** While boxes are rolled back; undefined where none are, or all ended. */
function rollbackActions(state: BoardState): readonly Action[] | undefined {
  const boxes = allBoxes(state.actions).filter(({ rollback }) => rollback !== null)
  if (boxes.length === 0) return undefined
  const isOpen = boxes.some(({ rollback }) => rollback?.status === 'pending' || rollback?.status === 'running')
  const canResume = boxes.some(isOpenFailure) && boardModel(state, now().getTime()).next.some(({ command }) => command.endsWith('--resume'))
  return [...(canResume ? (['resumeRollback'] as const) : []), ...(isOpen ? (['stopRollback'] as const) : [])]
}
